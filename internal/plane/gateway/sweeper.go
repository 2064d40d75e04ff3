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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/server/namespaces"
)

// sweepShare bounds the share of time that sweeps take: 1/sweepShare.
const sweepShare = 20

// sweeper deletes the objects of registered group versions in namespaces that the cluster
// has deleted. The cluster's own controller doesn't know these group versions, so the objects
// would reappear in a later namespace of the same name.
//
// It needs no permission except to get a namespace. Without that, it deletes nothing;
// succession does, once somebody can see the namespace.
type sweeper struct {
	cluster    kubernetes.Interface
	content    *content
	succession *succession
	interval   time.Duration
	clock      clock.WithTicker
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
			klog.ErrorS(err, "Objects in ended namespaces could not all be deleted; will retry")
		}
		timer.Reset(max(s.interval, sweepShare*s.clock.Since(began)))
	}
}

// sweep looks once at every namespace in which there are objects. What fails for
// one resource or namespace doesn't keep it from the others.
func (s *sweeper) sweep(ctx context.Context) error {
	resources, unanswered := s.content.resources(ctx, "")
	used, err := namespaces.Used(ctx, s.content.own, resources)
	errs := []error{unanswered, err}
	for _, namespace := range slices.Sorted(maps.Keys(used)) {
		if err := s.look(ctx, namespace, used[namespace]); err != nil {
			errs = append(errs, fmt.Errorf("namespace %s: %w", namespace, err))
		}
	}
	return errors.Join(errs...)
}

// look deletes the objects in a namespace if it ended, and those of an earlier one of the
// same name.
func (s *sweeper) look(ctx context.Context, namespace string, resources []schema.GroupVersionResource) error {
	ended, err := s.ended(ctx, namespace)
	if err != nil {
		return err
	}
	if ended {
		return s.empty(ctx, namespace, resources)
	}
	var errs []error
	groups := map[string]bool{}
	for _, resource := range resources {
		if groups[resource.Group] {
			continue
		}
		groups[resource.Group] = true
		_, err := s.succession.settle(ctx, resource.Group, namespace, func(ctx context.Context) (*corev1.Namespace, error) {
			return s.cluster.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// empty deletes the objects in a namespace that ended, if it still has when they were found.
func (s *sweeper) empty(ctx context.Context, namespace string, resources []schema.GroupVersionResource) error {
	deleted, err := namespaces.Sweep(ctx, s.content.own, namespace, resources, func(ctx context.Context) (namespaces.Belongs, error) {
		ended, err := s.ended(ctx, namespace)
		if err != nil || !ended {
			return nil, err
		}
		return namespaces.All, nil
	})
	if deleted > 0 {
		emptiedNamespaces.Inc()
		klog.InfoS("Deleted the objects of a namespace that ended in the cluster", "namespace", namespace, "objects", deleted)
	}
	return err
}

// ended reports whether a namespace is being deleted or gone. Only the cluster's own answer
// counts, not a 404 from something in between or a missing permission.
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
