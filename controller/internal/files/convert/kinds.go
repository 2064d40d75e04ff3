// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// builtins returns the groups of Kubernetes' own kinds.
var builtins = sync.OnceValue(func() map[string][]string {
	groups := map[string][]string{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		group := kind.Group
		if kind.Version == runtime.APIVersionInternal || group == "extensions" || group == "events.k8s.io" || slices.Contains(groups[kind.Kind], group) {
			continue
		}
		if strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") && group != "" {
			continue
		}
		groups[kind.Kind] = append(groups[kind.Kind], group)
	}
	return groups
})

// BuiltIn returns the resources of one of Kubernetes' own kinds, of which the group may be "*".
func BuiltIn(plural func(kind string) string, group, kind string) []schema.GroupResource {
	var out []schema.GroupResource
	for _, known := range builtins()[kind] {
		if group == "*" || group == known {
			out = append(out, schema.GroupResource{Group: known, Resource: plural(kind)})
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupResource) int { return strings.Compare(a.Group, b.Group) })
	return out
}
