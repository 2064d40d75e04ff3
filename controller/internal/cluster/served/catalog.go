// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Resource is a kind of objects that the API serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Listable reports whether it can be listed, Watchable whether it can be watched as well. Reviews,
	// for example, are neither.
	Listable, Watchable bool
}

// GVK returns the version and kind of its objects.
func (r Resource) GVK() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.Kind) }

// Catalog is what the API serves. It never changes.
type Catalog struct {
	// preferred has each resource once; others has the other versions.
	preferred, others []Resource
	// subresources has the names of the subresources of a resource, such as status.
	subresources map[schema.GroupVersionResource][]string
	// shortNames has the short names of a resource, such as svc.
	shortNames map[schema.GroupVersionResource][]string
	// failed has the group versions that exist and didn't answer, with the error. The resources of
	// those that answered earlier are still in the catalog.
	failed map[schema.GroupVersion]error
}

// CatalogOf returns a catalog of resources that are known otherwise. The first version of each is the preferred one.
func CatalogOf(resources []Resource) *Catalog { return (&Catalog{}).With(resources) }

// With returns a catalog that also has the resources that c has not.
func (c *Catalog) With(resources []Resource) *Catalog {
	out, known, versions := *c, map[schema.GroupResource]bool{}, map[schema.GroupVersionResource]bool{}
	out.preferred, out.others = slices.Clone(c.preferred), slices.Clone(c.others)
	for _, r := range c.Resources() {
		known[r.GroupResource()], versions[r.GroupVersionResource] = true, true
	}
	for _, r := range resources {
		switch {
		case versions[r.GroupVersionResource]:
			continue
		case known[r.GroupResource()]:
			out.others = append(out.others, r)
		default:
			out.preferred = append(out.preferred, r)
		}
		known[r.GroupResource()], versions[r.GroupVersionResource] = true, true
	}
	return &out
}

// Discover returns what the API serves. For parts of it that don't answer, the result has what before has,
// which may be nil.
func Discover(client Lister, before *Catalog) (*Catalog, error) {
	groups, lists, err := client.ServerGroupsAndResources()
	failures := &discovery.ErrGroupDiscoveryFailed{}
	if err != nil && !errors.As(err, &failures) {
		return nil, fmt.Errorf("discover which kinds exist: %w", err)
	}
	if len(groups) == 0 {
		return nil, errors.Join(errors.New("discover which kinds exist: the API serves no groups"), err)
	}
	found := &Catalog{failed: map[schema.GroupVersion]error{}, subresources: map[schema.GroupVersionResource][]string{}, shortNames: map[schema.GroupVersionResource][]string{}}
	byVersion := map[schema.GroupVersion][]Resource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover which kinds exist: %w", err)
		}
		byVersion[version] = found.read(version, list.APIResources)
	}
	for version, cause := range failures.Groups {
		found.failed[version] = cause
		byVersion[version] = before.of(version)
		for _, r := range byVersion[version] {
			found.subresources[r.GroupVersionResource] = before.Subresources(r.GroupVersionResource)
			found.shortNames[r.GroupVersionResource] = before.ShortNames(r.GroupVersionResource)
		}
	}
	for _, group := range groups {
		found.add(versionsOf(group), byVersion)
	}
	return found, nil
}

// versionsOf returns the versions of a group, the preferred one first.
func versionsOf(group *metav1.APIGroup) []schema.GroupVersion {
	versions := []schema.GroupVersion{{Group: group.Name, Version: group.PreferredVersion.Version}}
	for _, version := range group.Versions {
		if gv := (schema.GroupVersion{Group: group.Name, Version: version.Version}); gv != versions[0] {
			versions = append(versions, gv)
		}
	}
	return versions
}

// read returns the resources of a version, and records their subresources, whose names consist of the
// name of the resource, a slash, and their own.
func (c *Catalog) read(version schema.GroupVersion, list []metav1.APIResource) []Resource {
	var result []Resource
	for i := range list {
		name, subresource, isSub := strings.Cut(list[i].Name, "/")
		gvr := version.WithResource(name)
		if isSub {
			c.subresources[gvr] = append(c.subresources[gvr], subresource)
			continue
		}
		if names := list[i].ShortNames; len(names) > 0 {
			c.shortNames[gvr] = slices.Clone(names)
		}
		listable := slices.Contains(list[i].Verbs, "list")
		result = append(result, Resource{
			GroupVersionResource: gvr, Kind: list[i].Kind, Namespaced: list[i].Namespaced,
			Listable: listable, Watchable: listable && slices.Contains(list[i].Verbs, "watch"),
		})
	}
	return result
}

// add adds the resources of a group. The preferred version of a resource is the first one that has it, since
// the preferred version of a group does not have all resources.
func (c *Catalog) add(versions []schema.GroupVersion, byVersion map[schema.GroupVersion][]Resource) {
	seen := map[string]bool{}
	for _, version := range versions {
		for _, r := range byVersion[version] {
			if seen[r.Resource] {
				c.others = append(c.others, r)
				continue
			}
			seen[r.Resource] = true
			c.preferred = append(c.preferred, r)
		}
	}
}

func (c *Catalog) of(version schema.GroupVersion) []Resource {
	if c == nil {
		return nil
	}
	var result []Resource
	for _, r := range slices.Concat(c.preferred, c.others) {
		if r.GroupVersion() == version {
			result = append(result, r)
		}
	}
	return result
}

// Lookup returns the preferred version of a resource.
func (c *Catalog) Lookup(wanted schema.GroupResource, kind string) (Resource, bool) {
	for _, r := range c.preferred {
		if r.GroupResource() == wanted && r.Kind == kind {
			return r, true
		}
	}
	return Resource{}, false
}

// GroupFailed reports whether a version of the group didn't answer.
func (c *Catalog) GroupFailed(group string) bool { return c.GroupError(group) != nil }

// GroupError returns the error of a version of the group that didn't answer; nil if all did.
func (c *Catalog) GroupError(group string) error {
	for version, err := range c.failed {
		if version.Group == group {
			return err
		}
	}
	return nil
}

// Failed returns the versions that exist and didn't answer, with the error. Don't change the map.
func (c *Catalog) Failed() map[schema.GroupVersion]error { return c.failed }

// equal reports whether two catalogs say the same. The texts of errors don't count: they may differ each
// time. Both may be nil.
func (c *Catalog) equal(other *Catalog) bool {
	if c == nil || other == nil {
		return c == other
	}
	sameFailed := maps.EqualFunc(c.failed, other.failed, func(error, error) bool { return true })
	a, b := *c, *other
	a.failed, b.failed = nil, nil
	return sameFailed && reflect.DeepEqual(a, b)
}

// Resources returns all resources in all versions, preferred versions first, including those that can't be
// listed.
func (c *Catalog) Resources() []Resource { return slices.Concat(c.preferred, c.others) }

// Find returns the first resource, in the same order, for which is returns true.
func (c *Catalog) Find(is func(*Resource) bool) (Resource, bool) {
	for _, list := range [][]Resource{c.preferred, c.others} {
		for i := range list {
			if is(&list[i]) {
				return list[i], true
			}
		}
	}
	return Resource{}, false
}

// Subresources returns the names of the subresources of a resource. Don't change the list.
func (c *Catalog) Subresources(r schema.GroupVersionResource) []string { return c.subresources[r] }

// ShortNames returns the short names of a resource, such as svc. Don't change the list.
func (c *Catalog) ShortNames(r schema.GroupVersionResource) []string { return c.shortNames[r] }

// Matching returns the resources that targets match and that accept returns true for, each once. A target
// matches a resource in one version, the most preferred of those that it names: with "*", the preferred one.
// Targets of subresources match nothing.
func (c *Catalog) Matching(targets []policy.Target, excluded policy.Exclusion, accept func(Resource) bool) []Resource {
	var result []Resource
	for _, target := range targets {
		if target.Subresource != "" {
			continue
		}
		for _, r := range c.matching(target, excluded, accept) {
			if !slices.Contains(result, r) {
				result = append(result, r)
			}
		}
	}
	return result
}

// MatchingAny returns the resources that a target matches, including those that can't be listed. It ignores the
// subresource of the target.
func (c *Catalog) MatchingAny(target policy.Target, excluded policy.Exclusion) []Resource {
	return c.matching(target, excluded, func(Resource) bool { return true })
}

func (c *Catalog) matching(target policy.Target, excluded policy.Exclusion, accept func(Resource) bool) []Resource {
	var result []Resource
	seen := map[schema.GroupResource]bool{}
	for _, r := range c.Resources() {
		if seen[r.GroupResource()] || excluded.Has(r.GroupResource()) || !accept(r) || !target.MatchesResource(r.GVK(), r.Resource) {
			continue
		}
		seen[r.GroupResource()] = true
		result = append(result, r)
	}
	return result
}

// Assignment is a resource and the policies that match it.
type Assignment[P any] struct {
	Resource Resource
	Policies []P
}

// Assign turns the resources that each policy matches into the policies of each resource. Resources are in the
// order in which they are matched first, the policies of a resource in their given order.
func Assign[P any](policies []P, matching func(P) []Resource) []Assignment[P] {
	var result []Assignment[P]
	index := map[Resource]int{}
	for _, p := range policies {
		for _, r := range matching(p) {
			i, known := index[r]
			if !known {
				i = len(result)
				index[r] = i
				result = append(result, Assignment[P]{Resource: r})
			}
			result[i].Policies = append(result[i].Policies, p)
		}
	}
	return result
}
