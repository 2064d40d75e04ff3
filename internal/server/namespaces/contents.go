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

// contents are objects as they were found in a namespace. Objects that are created later under the same
// names are not among them.
type contents map[schema.GroupVersionResource][]metav1.ObjectMeta

// Belongs reports whether an object is of a namespace that ended.
type Belongs func(*metav1.ObjectMeta) bool

// All is for namespaces that have no successor.
func All(*metav1.ObjectMeta) bool { return true }

// Sweep deletes the objects of the resources that a namespace has left, and returns how many.
// What fails for one resource doesn't keep it from the others. ended says which objects
// belong to the namespace that ended; with nil nothing is deleted.
//
// The order is what makes it safe: what is listed before ended looks can't be of a namespace
// that came after it looked.
func Sweep(ctx context.Context, client metadata.Interface, namespace string, resources []schema.GroupVersionResource,
	ended func(context.Context) (Belongs, error),
) (swept int, err error) {
	found, unlisted := find(ctx, client, namespace, resources)
	if len(found) == 0 {
		return 0, unlisted // As it nearly always is.
	}
	belongs, err := ended(ctx)
	if err != nil || belongs == nil {
		return 0, errors.Join(unlisted, err)
	}
	swept, refused := found.delete(ctx, client, belongs)
	return swept, errors.Join(unlisted, refused)
}

// Used returns which of the resources have objects in which namespaces. What fails for one
// resource doesn't keep it from the others.
func Used(ctx context.Context, client metadata.Interface, resources []schema.GroupVersionResource) (map[string][]schema.GroupVersionResource, error) {
	used := map[string][]schema.GroupVersionResource{}
	var errs []error
	for _, resource := range resources {
		in := map[string]bool{}
		err := eachObject(ctx, client.Resource(resource), func(object *metav1.PartialObjectMetadata) { in[object.Namespace] = true })
		if err != nil {
			errs = append(errs, fmt.Errorf("list %s: %w", resource.GroupResource(), err))
		}
		delete(in, "")
		for namespace := range in {
			used[namespace] = append(used[namespace], resource)
		}
	}
	return used, errors.Join(errs...)
}

// find returns the objects of the resources in a namespace. A resource that the server
// doesn't know has none. What fails for one resource doesn't keep it from the others.
func find(ctx context.Context, client metadata.Interface, namespace string, resources []schema.GroupVersionResource) (contents, error) {
	found := contents{}
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

// delete deletes those of the objects that belong, unless somebody has, and returns how
// many.
func (c contents) delete(ctx context.Context, client metadata.Interface, belongs Belongs) (deleted int, err error) {
	var errs []error
	for resource, all := range c {
		for i := range all {
			if all[i].DeletionTimestamp != nil || !belongs(&all[i]) {
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
