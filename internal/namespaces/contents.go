// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Contents are objects as they were found in a namespace. What comes later under the same
// names is not among them.
type Contents map[schema.GroupVersionResource][]metav1.ObjectMeta

// Find returns the objects of the resources in a namespace. A resource that the server
// doesn't know has none. What fails for one resource doesn't keep it from the others.
func Find(ctx context.Context, client metadata.Interface, namespace string, resources []schema.GroupVersionResource) (Contents, error) {
	found := Contents{}
	var errs []error
	for _, resource := range resources {
		err := eachObject(ctx, client.Resource(resource).Namespace(namespace), func(object *metav1.PartialObjectMetadata) {
			found[resource] = append(found[resource], object.ObjectMeta)
		})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("list %s: %w", resource.GroupResource(), err))
		}
	}
	return found, errors.Join(errs...)
}

// Delete deletes those of the objects that belong, unless somebody has, and returns how
// many. nil for belongs means all of them.
func (c Contents) Delete(ctx context.Context, client metadata.Interface, belongs func(*metav1.ObjectMeta) bool) (deleted int, err error) {
	var errs []error
	for resource, all := range c {
		for i := range all {
			if all[i].DeletionTimestamp != nil || belongs != nil && !belongs(&all[i]) {
				continue
			}
			did, err := deleteFound(ctx, client, resource, &all[i])
			if err != nil {
				errs = append(errs, err)
			}
			if did {
				deleted++
			}
			if ctx.Err() != nil {
				return deleted, errors.Join(errs...)
			}
		}
	}
	return deleted, errors.Join(errs...)
}

func deleteFound(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, object *metav1.ObjectMeta) (deleted bool, err error) {
	options := deleteOptions()
	if object.UID != "" {
		options.Preconditions = &metav1.Preconditions{UID: &object.UID}
	}
	err = withTimeout(ctx, func(ctx context.Context) error {
		return client.Resource(resource).Namespace(object.Namespace).Delete(ctx, object.Name, options)
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // Another replica was faster.
	}
	if err != nil {
		return false, fmt.Errorf("delete %s %s: %w", resource.GroupResource(), object.Name, err)
	}
	return true, nil
}
