// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/controller/internal/policy"
)

// resource is a kind of objects that can be listed and watched.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

func (r resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kind) }

// catalog is what the API serves. It never changes.
type catalog struct {
	// preferred has each resource once; others has the further versions.
	preferred, others []resource
	// failed are group versions that exist and didn't answer. Of those that did before, the
	// resources are still in the catalog.
	failed map[schema.GroupVersion]bool
}

// discover returns what client serves. Whatever could not be learned is taken from before, which
// may be nil.
func discover(client discovery.DiscoveryInterface, before *catalog) (*catalog, error) {
	groups, lists, err := client.ServerGroupsAndResources()
	failures := &discovery.ErrGroupDiscoveryFailed{}
	if err != nil && !errors.As(err, &failures) {
		return nil, fmt.Errorf("ask which kinds exist: %w", err)
	}
	if len(groups) == 0 {
		return nil, errors.Join(errors.New("ask which kinds exist: the API serves no groups"), err)
	}
	found := &catalog{failed: map[schema.GroupVersion]bool{}}
	byVersion := map[schema.GroupVersion][]resource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("ask which kinds exist: %w", err)
		}
		byVersion[version] = listable(version, list.APIResources)
	}
	for version := range failures.Groups {
		found.failed[version] = true
		byVersion[version] = before.of(version)
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

// listable leaves out subresources and what can't be listed and watched, such as reviews.
func listable(version schema.GroupVersion, list []metav1.APIResource) []resource {
	var result []resource
	for i := range list {
		// Subresources have the parent's name, a slash, and theirs; none can be listed.
		if verbs := list[i].Verbs; slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") {
			result = append(result, resource{
				GroupVersionResource: version.WithResource(list[i].Name), kind: list[i].Kind, namespaced: list[i].Namespaced,
			})
		}
	}
	return result
}

// add adds the resources of a group. A resource is preferred in the first version that has it:
// not every one is in the preferred version of its group.
func (c *catalog) add(versions []schema.GroupVersion, byVersion map[schema.GroupVersion][]resource) {
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

func (c *catalog) of(version schema.GroupVersion) []resource {
	if c == nil {
		return nil
	}
	var result []resource
	for _, r := range slices.Concat(c.preferred, c.others) {
		if r.GroupVersion() == version {
			result = append(result, r)
		}
	}
	return result
}

// lookup returns the preferred version of a resource.
func (c *catalog) lookup(wanted schema.GroupResource, kind string) (resource, bool) {
	for _, r := range c.preferred {
		if r.GroupResource() == wanted && r.kind == kind {
			return r, true
		}
	}
	return resource{}, false
}

// groupFailed tells whether a version of the group didn't answer.
func (c *catalog) groupFailed(group string) bool {
	for version := range c.failed {
		if version.Group == group {
			return true
		}
	}
	return false
}

// matching returns the resources that a target means: of each its preferred version, and of
// those that the target names in another version only, that one.
func (c *catalog) matching(target policy.Target, excluded policy.Exclusion) []resource {
	result := matchingOf(c.preferred, target, excluded)
	for _, r := range matchingOf(c.others, target, excluded) {
		known := func(other resource) bool { return other.GroupResource() == r.GroupResource() }
		if !slices.ContainsFunc(result, known) {
			result = append(result, r)
		}
	}
	return result
}

func matchingOf(list []resource, target policy.Target, excluded policy.Exclusion) []resource {
	var result []resource
	for _, r := range list {
		if target.Matches(r.gvk(), r.Resource) && !excluded.Has(r.GroupResource()) {
			result = append(result, r)
		}
	}
	return result
}
