// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/namespaces"
)

const (
	sweepPage = 500
	// sweepShare bounds the part of the time that sweeps take: one in so many.
	sweepShare = 20
)

// sweeper deletes the objects of registered group versions in namespaces that ended in
// the cluster. The cluster's own controller doesn't know these group versions, so that
// objects would come back to life in a later namespace of the same name.
//
// It needs no right but that to read a namespace. Where even that is missing, it
// deletes nothing.
type sweeper struct {
	cluster kubernetes.Interface
	// own are clients of the gateway itself, with all rights.
	own       metadata.Interface
	services  apiregistration.APIServiceInterface
	discovery discovery.DiscoveryInterface
	interval  time.Duration
	clock     clock.WithTicker
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	timer := s.clock.NewTimer(s.interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		began := s.clock.Now()
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Objects in ended namespaces could not all be deleted; this is tried again")
		}
		timer.Reset(max(s.interval, sweepShare*s.clock.Since(began)))
	}
}

// sweep looks once at every namespace in which there are objects. What fails for
// one resource or namespace doesn't keep it from the others.
func (s *sweeper) sweep(ctx context.Context) error {
	resources, unanswered := s.resources(ctx)
	used, err := s.used(ctx, resources)
	errs := []error{unanswered, err}
	for _, namespace := range slices.Sorted(maps.Keys(used)) {
		ended, err := s.ended(ctx, namespace)
		if err != nil || !ended {
			errs = append(errs, err)
			continue
		}
		remaining, err := namespaces.Empty(ctx, s.own, namespace, used[namespace])
		if err != nil {
			errs = append(errs, fmt.Errorf("namespace %s: %w", namespace, err))
			continue
		}
		emptiedNamespaces.Inc()
		klog.InfoS("Deleted the objects of a namespace that ended in the cluster", "namespace", namespace, "remaining", remaining)
	}
	return errors.Join(errs...)
}

// resources returns the namespaced resources of registered group versions that can be
// listed and deleted, each in one version. The error is about the servers that did not
// answer.
func (s *sweeper) resources(ctx context.Context) ([]schema.GroupVersionResource, error) {
	services, err := s.services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list registrations: %w", err)
	}
	seen := map[schema.GroupResource]bool{}
	var resources []schema.GroupVersionResource
	var errs []error
	for i := range services.Items {
		spec := &services.Items[i].Spec
		if spec.Service == nil {
			continue
		}
		gv := schema.GroupVersion{Group: spec.Group, Version: spec.Version}
		list, err := s.discovery.ServerResourcesForGroupVersion(gv.String())
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

// used returns which of the resources have objects in which namespaces.
func (s *sweeper) used(ctx context.Context, resources []schema.GroupVersionResource) (map[string][]schema.GroupVersionResource, error) {
	used := map[string][]schema.GroupVersionResource{}
	var errs []error
	for _, resource := range resources {
		in, err := s.namespacesOf(ctx, resource)
		if err != nil {
			errs = append(errs, fmt.Errorf("list %s: %w", resource.GroupResource(), err))
		}
		for namespace := range in {
			used[namespace] = append(used[namespace], resource)
		}
	}
	return used, errors.Join(errs...)
}

func (s *sweeper) namespacesOf(ctx context.Context, resource schema.GroupVersionResource) (map[string]bool, error) {
	in := map[string]bool{}
	for options := (metav1.ListOptions{Limit: sweepPage}); ; {
		page, err := s.own.Resource(resource).List(ctx, options)
		if err != nil {
			return in, err
		}
		for i := range page.Items {
			if namespace := page.Items[i].Namespace; namespace != "" {
				in[namespace] = true
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return in, nil
		}
	}
}

// ended tells whether a namespace is being deleted or gone. Only the cluster's own clear
// word counts: a 404 of something in between, or a missing right, is no such word.
func (s *sweeper) ended(ctx context.Context, name string) (bool, error) {
	namespace, err := s.cluster.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return namespace.DeletionTimestamp != nil, nil
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return false, nil
	case apierrors.IsNotFound(err):
		return namespaces.IsGone(err, name), nil
	}
	return false, fmt.Errorf("namespace %s of the cluster: %w", name, err)
}
