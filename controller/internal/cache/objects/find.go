// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Named is a resource as users name it: by its kind, plural, singular or short name.
type Named struct {
	policy.EntryResource
	// Exact tells that Group is the API group, empty for the core group; otherwise no Group is any.
	Exact bool
}

// AbsentError says that there is no resource of that name now.
type AbsentError struct{ text string }

// Error implements error.
func (e *AbsentError) Error() string { return e.text }

// Find returns the resource that is named. If several groups have a kind, it takes the group that the API prefers, as
// kubectl does: the core group, or else the first one in its discovery. The warning says so, unless it is the core
// group. The error is an [*AbsentError] if there is no such kind.
func Find(all *served.Catalog, w Named) (found Selection, warning string, err error) {
	byGroup, versions := map[string]served.Resource{}, map[string]bool{}
	var order []string // Of the groups, preferred ones first.
	for _, r := range all.Resources() {
		if !slices.Contains(order, r.Group) {
			order = append(order, r.Group)
		}
		if !w.names(all, r) {
			continue
		}
		versions[r.Version] = true
		if w.Version != "" && r.Version != w.Version {
			continue
		}
		// A plural or a kind can't be taken by the short name of another resource.
		known, found := byGroup[r.Group]
		if !found || (!exactly(known, w.Kind) && exactly(r, w.Kind)) {
			byGroup[r.Group] = r
		}
	}
	listable := maps.Clone(byGroup)
	maps.DeleteFunc(listable, func(_ string, r served.Resource) bool { return !r.Watchable })
	switch {
	case len(listable) > 0:
	case len(byGroup) > 0:
		return Selection{}, "", fmt.Errorf("kind %q can't be listed and watched: use apiCall with its urlPath", w.Kind)
	default:
		return Selection{}, "", w.absent(all, slices.Sorted(maps.Keys(versions)))
	}
	resource, core := listable[""]
	if !core {
		first := slices.IndexFunc(order, func(group string) bool { _, ok := listable[group]; return ok })
		resource = listable[order[first]]
		if groups := slices.Sorted(maps.Keys(listable)); len(groups) > 1 {
			warning = fmt.Sprintf("kind %q is in several groups: %s is used, which the API prefers; set group to one of %s", w.Kind, resource.Group, strings.Join(groups, ", "))
		}
	}
	if w.Namespace != "" && !resource.Namespaced {
		return Selection{}, "", fmt.Errorf("namespace: %s are in no namespace: remove it", resource.GroupResource())
	}
	return Selection{Resource: resource, Namespace: w.Namespace, Selectors: Selectors{w.LabelSelector, w.FieldSelector, w.Filter}}, warning, nil
}

// names reports whether the resource is meant, in any version.
func (w Named) names(all *served.Catalog, r served.Resource) bool {
	if w.Exact && r.Group != w.Group {
		return false
	}
	return r.Kind == w.Kind || (w.Kind == strings.ToLower(w.Kind) &&
		(r.Resource == w.Kind || strings.ToLower(r.Kind) == w.Kind || slices.Contains(all.ShortNames(r.GroupVersionResource), w.Kind)))
}

func exactly(r served.Resource, kind string) bool { return r.Kind == kind || r.Resource == kind }

// absent says that nothing is there but other versions.
func (w Named) absent(all *served.Catalog, versions []string) error {
	what := fmt.Sprintf("the API has no kind or plural %q", w.Kind)
	if w.Exact {
		what += fmt.Sprintf(" in the group %q", w.Group)
	}
	if len(versions) > 0 {
		return &AbsentError{fmt.Sprintf("%s and the version %q: set version to one of %s, or leave it out", what, w.Version, strings.Join(versions, ", "))}
	}
	var silent []string
	for version := range all.Failed() {
		if !w.Exact || version.Group == w.Group {
			silent = append(silent, version.String())
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		return &AbsentError{fmt.Sprintf("%s, but %s did not answer", what, strings.Join(silent, ", "))}
	}
	return &AbsentError{what + ": correct the entry, or install its definition; it loads once it is there"}
}
