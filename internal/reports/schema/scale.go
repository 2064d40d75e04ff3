// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"math"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// addScale adds the rules for what the scale subresource reads.
func (n *node) addScale(scale *apiextensions.CustomResourceSubresourceScale) {
	for _, path := range []string{scale.SpecReplicasPath, scale.StatusReplicasPath} {
		replicas := n.find(path)
		if replicas == nil || replicas.kind != integer {
			n.further = true
			continue
		}
		replicas.low, replicas.high = max(replicas.low, 0), min(replicas.high, math.MaxInt32)
	}
	if scale.LabelSelectorPath != nil {
		if selector := n.find(*scale.LabelSelectorPath); selector == nil || selector.kind != text {
			n.further = true
		}
	}
}

// find returns the node of a path of names of members; nil if a value on it may be null, or isn't known.
func (n *node) find(path string) *node {
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		m := n.member(quote(name))
		if n.kind != object || m == nil || m.node.nullable {
			return nil
		}
		n = m.node
	}
	return n
}
