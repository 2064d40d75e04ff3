// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// content is what registered servers have. Its clients are the gateway's own, with all rights.
type content struct {
	own       metadata.Interface
	services  apiregistration.APIServiceInterface
	discovery discovery.DiscoveryInterface
}

// resources returns the namespaced resources of registered group versions that can be
// listed and deleted, of one group or, for "", of all, each in one version. The error is
// about the servers that did not answer.
func (c *content) resources(ctx context.Context, group string) ([]schema.GroupVersionResource, error) {
	services, err := c.services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list registrations: %w", err)
	}
	seen := map[schema.GroupResource]bool{}
	var resources []schema.GroupVersionResource
	var errs []error
	for i := range services.Items {
		spec := &services.Items[i].Spec
		if spec.Service == nil || group != "" && spec.Group != group {
			continue
		}
		gv := schema.GroupVersion{Group: spec.Group, Version: spec.Version}
		list, err := c.discovery.ServerResourcesForGroupVersion(gv.String())
		if err != nil {
			errs = append(errs, fmt.Errorf("resources of %s: %w", gv, err))
			continue
		}
		for _, resource := range list.APIResources {
			gvr := gv.WithResource(resource.Name)
			if resource.Namespaced && slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") && !seen[gvr.GroupResource()] {
				seen[gvr.GroupResource()] = true
				resources = append(resources, gvr)
			}
		}
	}
	return resources, errors.Join(errs...)
}
