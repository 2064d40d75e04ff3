// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/controller/internal/policy"
)

// servedResource is a resource in one version that can be listed.
type servedResource struct {
	kind       schema.GroupVersionKind
	resource   schema.GroupVersionResource
	namespaced bool
}

// target is a resource to list with the policies to evaluate for it.
type target struct {
	served   servedResource
	policies []policy.Policy
}

// servedResources returns what can be listed; of each group the preferred version first.
func servedResources(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []servedResource {
	rank := map[string]int{}
	for _, group := range groups {
		for i, version := range group.Versions {
			rank[version.GroupVersion] = i + 1
		}
		rank[group.PreferredVersion.GroupVersion] = 0
	}
	ordered := slices.Clone(lists)
	slices.SortStableFunc(ordered, func(a, b *metav1.APIResourceList) int {
		groupA, groupB := groupOf(a.GroupVersion), groupOf(b.GroupVersion)
		if groupA != groupB {
			return strings.Compare(groupA, groupB)
		}
		return rank[a.GroupVersion] - rank[b.GroupVersion]
	})
	var served []servedResource
	for _, list := range ordered {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // No request could name such a version.
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			served = append(served, servedResource{
				kind: groupVersion.WithKind(resource.Kind), resource: groupVersion.WithResource(resource.Name),
				namespaced: resource.Namespaced,
			})
		}
	}
	return served
}

func groupOf(groupVersion string) string {
	group, _, ok := strings.Cut(groupVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// plan returns what to list. Each policy sees each resource in one version: the most preferred
// one that it matches.
func (c *Cluster) plan(policies []policy.Policy) []target {
	var targets []target
	at := map[schema.GroupVersionResource]int{}
	type seen struct {
		policy   int
		resource schema.GroupResource
	}
	done := map[seen]bool{}
	excluded := policy.NewExclusion()
	for _, served := range c.served {
		if excluded.Has(served.resource.GroupResource()) || len(c.namespaces) > 0 && !served.namespaced {
			continue
		}
		for i, p := range policies {
			pair := seen{i, served.resource.GroupResource()}
			if done[pair] || !matchesAny(p, served) {
				continue
			}
			done[pair] = true
			index, ok := at[served.resource]
			if !ok {
				index = len(targets)
				at[served.resource] = index
				targets = append(targets, target{served: served})
			}
			targets[index].policies = append(targets[index].policies, p)
		}
	}
	return targets
}

func matchesAny(p policy.Policy, served servedResource) bool {
	return slices.ContainsFunc(p.Targets(), func(t policy.Target) bool {
		return t.Matches(served.kind, served.resource.Resource)
	})
}

// noteUnknown keeps which groups discovery failed for; it returns errors of another kind.
func (c *Cluster) noteUnknown(err error) error {
	var failed *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &failed) {
		return err
	}
	for groupVersion, cause := range failed.Groups {
		c.unknown[groupVersion.Group] = cause
	}
	return nil
}
