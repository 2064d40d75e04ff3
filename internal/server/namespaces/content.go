// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// parallel is how many resources of a namespace are emptied at once, so that a server
// that hangs hardly delays the others.
const parallel = 4

// findings are what an attempt to empty a namespace has found.
type findings struct {
	discovery error // about groups whose resources are unknown; the others were emptied
	parsing   error // about group versions that can't be parsed
	deletion  error // about resources that could not be emptied
	objects   map[schema.GroupResource]int
	// finalizers has the number of objects that each one holds.
	finalizers map[string]int
}

// err is nil if the namespace is known to be empty.
func (f *findings) err() error {
	if err := errors.Join(f.discovery, f.parsing, f.deletion); err != nil {
		return err
	}
	if len(f.objects) > 0 {
		return errRemains
	}
	return nil
}

// emptyAll deletes the content of a namespace in all groups that can be discovered.
func (c *Controller) emptyAll(ctx context.Context, namespace string) *findings {
	found := &findings{objects: map[schema.GroupResource]int{}, finalizers: map[string]int{}}
	resources := c.discover(found)

	var mutex sync.Mutex // guards found
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, resource := range resources {
		group.Go(func() error {
			left, err := empty(ctx, c.metadata, namespace, resource)
			mutex.Lock()
			defer mutex.Unlock()
			found.deletion = errors.Join(found.deletion, err)
			if left.objects > 0 {
				found.objects[resource.GroupResource()] += left.objects
			}
			for finalizer, count := range left.finalizers {
				found.finalizers[finalizer] += count
			}
			return nil
		})
	}
	_ = group.Wait() // Errors are among the findings.
	return found
}

// discover returns the resources in which a namespace can have content: each in the
// version that its server prefers. What can't be discovered is noted in found.
func (c *Controller) discover(found *findings) []schema.GroupVersionResource {
	lists, err := c.core.Discovery().ServerPreferredNamespacedResources()
	found.discovery = err
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			found.parsing = errors.Join(found.parsing, err)
			continue
		}
		for _, resource := range list.APIResources {
			if deletable(&resource) {
				resources = append(resources, version.WithResource(resource.Name))
			}
		}
	}
	return resources
}

// deletable reports whether a resource has objects that can be listed and deleted.
// Reviews, for example, have none.
func deletable(resource *metav1.APIResource) bool {
	return slices.Contains(resource.Verbs, "list") &&
		(slices.Contains(resource.Verbs, "delete") || slices.Contains(resource.Verbs, "deletecollection"))
}

// explain makes an error of discovery a sentence that names each group.
func explain(err error) string {
	groups, ok := discovery.GroupDiscoveryFailedErrorGroups(err)
	if !ok {
		return err.Error()
	}
	var parts []string
	for version, cause := range groups {
		parts = append(parts, fmt.Sprintf("%s (%v)", version, cause))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d group versions could not be discovered: %s", len(parts), joinSome(parts))
}
