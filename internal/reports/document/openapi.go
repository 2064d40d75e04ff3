// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
)

// modelName returns the name that kube-apiserver gives to a custom resource of the kind
// in OpenAPI documents: the group backwards, version and kind.
func modelName(kind gvk.GroupVersionKind) string {
	labels := strings.Split(kind.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, kind.Version, kind.Kind), ".")
}
