// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// world is what there is to find resources in.
type world interface {
	// Resources returns all resources, each in every version, the preferred versions first.
	Resources() []served.Resource
	// ShortNames returns the short names of a resource.
	ShortNames(schema.GroupVersionResource) []string
	// Failed returns the group versions that exist and don't answer.
	Failed() map[schema.GroupVersion]error
}

// selection is what to keep of a resource. It is comparable.
type selection struct {
	resource       served.Resource
	namespace      string
	labels, fields string
	// filter is an expression that is true for what is kept; empty for all.
	filter string
	// name limits it to one object, which then is all there is to see.
	name string
}

// String names a selection in errors.
func (s selection) String() string {
	text := s.resource.GroupResource().String()
	if s.name != "" {
		text += " " + s.name
	}
	if s.namespace != "" {
		text += " in namespace " + s.namespace
	}
	return text + selected(s.labels, s.fields, s.filter)
}

// find returns the resource that is wanted. If several groups have a kind, find takes the group that the API
// prefers, as kubectl does: the core group, or else the first one in its discovery. The warning says so,
// unless it is the core group.
func find(all world, w *wanted) (found selection, warning string, err error) {
	named := func(r served.Resource) bool {
		return r.Kind == w.kind || (w.kind == strings.ToLower(w.kind) &&
			(r.Resource == w.kind || strings.ToLower(r.Kind) == w.kind || slices.Contains(all.ShortNames(r.GroupVersionResource), w.kind)))
	}
	byGroup, versions := map[string]served.Resource{}, map[string]bool{}
	var order []string // Of the groups, preferred ones first.
	for _, r := range all.Resources() {
		if !slices.Contains(order, r.Group) {
			order = append(order, r.Group)
		}
		if !named(r) || (w.exact && r.Group != w.group) {
			continue
		}
		versions[r.Version] = true
		if w.version != "" && r.Version != w.version {
			continue
		}
		// A plural or a kind can't be taken by the short name of another resource.
		known, found := byGroup[r.Group]
		if !found || (!exactly(known, w.kind) && exactly(r, w.kind)) {
			byGroup[r.Group] = r
		}
	}
	listable := maps.Clone(byGroup)
	maps.DeleteFunc(listable, func(_ string, r served.Resource) bool { return !r.Watchable })
	switch {
	case len(listable) > 0:
	case len(byGroup) > 0:
		return selection{}, "", fmt.Errorf("kind %q can't be listed and watched: use apiCall with its urlPath", w.kind)
	default:
		return selection{}, "", absent(all, w, slices.Sorted(maps.Keys(versions)))
	}
	resource, core := listable[""]
	if !core {
		first := slices.IndexFunc(order, func(group string) bool { _, ok := listable[group]; return ok })
		resource = listable[order[first]]
		warning = severalGroups(w.kind, resource.Group, slices.Sorted(maps.Keys(listable)))
	}
	if w.namespace != "" && !resource.Namespaced {
		return selection{}, "", fmt.Errorf("namespace: %s are in no namespace: remove it", resource.GroupResource())
	}
	return selection{resource: resource, namespace: w.namespace, labels: w.labels, fields: w.fields, filter: w.filter}, warning, nil
}

// severalGroups says which group was chosen; nothing if there is no other one.
func severalGroups(kind, chosen string, groups []string) string {
	if len(groups) == 1 {
		return ""
	}
	return fmt.Sprintf("kind %q is in several groups: %s is used, which the API prefers; set group to one of %s", kind, chosen, strings.Join(groups, ", "))
}

func exactly(r served.Resource, kind string) bool { return r.Kind == kind || r.Resource == kind }

// absent says that nothing is there.
func absent(all world, w *wanted, versions []string) error {
	what := fmt.Sprintf("the API has no kind or plural %q", w.kind)
	if w.exact {
		what += fmt.Sprintf(" in the group %q", w.group)
	}
	if len(versions) > 0 {
		return &absentError{fmt.Sprintf("%s and the version %q: set version to one of %s, or leave it out", what, w.version, strings.Join(versions, ", "))}
	}
	var silent []string
	for version := range all.Failed() {
		if !w.exact || version.Group == w.group {
			silent = append(silent, version.String())
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		return &absentError{fmt.Sprintf("%s, but %s did not answer", what, strings.Join(silent, ", "))}
	}
	return &absentError{what + ": correct the entry, or install its definition; it loads once it is there"}
}

// absentError says that an entry names no resource that is there now.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// findPath returns what a path names, and whether that can be watched.
func findPath(all world, p *apiPath) (selection, bool) {
	if !p.watchable {
		return selection{}, false
	}
	for _, r := range all.Resources() {
		if r.GroupVersionResource != p.resource {
			continue
		}
		// A path without a namespace to an object in one is the API's to refuse.
		fits := r.Watchable && (p.namespace == "" || r.Namespaced) && (p.name == "" || r.Namespaced == (p.namespace != ""))
		return selection{resource: r, namespace: p.namespace, labels: p.labels, fields: p.fields, name: p.name}, fits
	}
	return selection{}, false
}
