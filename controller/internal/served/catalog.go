// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"errors"
	"fmt"
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
	// Listable reports whether it can be listed and watched; reviews, for one, can't.
	Listable bool
}

// GVK returns the version and kind of its objects.
func (r Resource) GVK() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.Kind) }

// Catalog is what the API serves. It never changes.
type Catalog struct {
	// preferred has each resource once; others has the further versions.
	preferred, others []Resource
	// subresources has the names of those of a resource, such as status.
	subresources map[schema.GroupVersionResource][]string
	// shortNames has the short names of a resource, such as svc.
	shortNames map[schema.GroupVersionResource][]string
	// failed are group versions that exist and didn't answer. Of those that did before, the
	// resources are still in the catalog.
	failed map[schema.GroupVersion]bool
}

// Discover returns what client serves. Whatever could not be learned is taken from before, which
// may be nil.
func Discover(client Lister, before *Catalog) (*Catalog, error) {
	groups, lists, err := client.ServerGroupsAndResources()
	failures := &discovery.ErrGroupDiscoveryFailed{}
	if err != nil && !errors.As(err, &failures) {
		return nil, fmt.Errorf("ask which kinds exist: %w", err)
	}
	if len(groups) == 0 {
		return nil, errors.Join(errors.New("ask which kinds exist: the API serves no groups"), err)
	}
	found := &Catalog{failed: map[schema.GroupVersion]bool{}, subresources: map[schema.GroupVersionResource][]string{}, shortNames: map[schema.GroupVersionResource][]string{}}
	byVersion := map[schema.GroupVersion][]Resource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("ask which kinds exist: %w", err)
		}
		byVersion[version] = found.read(version, list.APIResources)
	}
	for version := range failures.Groups {
		found.failed[version] = true
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

// read returns the resources of a version and notes their subresources, which have the name of
// the resource, a slash, and theirs.
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
		verbs := list[i].Verbs
		result = append(result, Resource{
			GroupVersionResource: gvr, Kind: list[i].Kind, Namespaced: list[i].Namespaced,
			Listable: slices.Contains(verbs, "list") && slices.Contains(verbs, "watch"),
		})
	}
	return result
}

// add adds the resources of a group. A resource is preferred in the first version that has it:
// not every one is in the preferred version of its group.
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
func (c *Catalog) GroupFailed(group string) bool {
	for version := range c.failed {
		if version.Group == group {
			return true
		}
	}
	return false
}

// Failed returns the versions that exist and didn't answer. The map is not to be changed.
func (c *Catalog) Failed() map[schema.GroupVersion]bool { return c.failed }

// Resources returns all resources, each in every version, the preferred versions first. Those that
// can't be listed are among them.
func (c *Catalog) Resources() []Resource { return slices.Concat(c.preferred, c.others) }

// Subresources returns the names of the subresources of a resource. The list is not to be changed.
func (c *Catalog) Subresources(r schema.GroupVersionResource) []string { return c.subresources[r] }

// ShortNames returns the short names of a resource, such as svc. The list is not to be changed.
func (c *Catalog) ShortNames(r schema.GroupVersionResource) []string { return c.shortNames[r] }

// Matching returns the resources that a target means and that can be listed: of each its preferred
// version, and of those that the target names in another version only, that one.
func (c *Catalog) Matching(target policy.Target, excluded policy.Exclusion) []Resource {
	if target.Subresource != "" {
		return nil
	}
	return slices.DeleteFunc(c.MatchingAny(target, excluded), func(r Resource) bool { return !r.Listable })
}

// MatchingAny is [Catalog.Matching] with those that can't be listed. The subresource of the target
// has no say.
func (c *Catalog) MatchingAny(target policy.Target, excluded policy.Exclusion) []Resource {
	result := matchingOf(c.preferred, target, excluded)
	for _, r := range matchingOf(c.others, target, excluded) {
		known := func(other Resource) bool { return other.GroupResource() == r.GroupResource() }
		if !slices.ContainsFunc(result, known) {
			result = append(result, r)
		}
	}
	return result
}

func matchingOf(list []Resource, target policy.Target, excluded policy.Exclusion) []Resource {
	var result []Resource
	for _, r := range list {
		if target.MatchesResource(r.GVK(), r.Resource) && !excluded.Has(r.GroupResource()) {
			result = append(result, r)
		}
	}
	return result
}
