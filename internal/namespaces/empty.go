// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

const (
	// requestTimeout bounds one request: a server that hangs must not hold a worker.
	requestTimeout = 30 * time.Second
	// pageSize bounds what one list holds in memory.
	pageSize = 500
)

// content is what is left of one resource in one namespace.
type content struct {
	objects    int
	finalizers map[string]int // how many of the objects each one holds
}

// Empty deletes all objects of the resources in a namespace and returns how many are
// still there afterwards, such as those with finalizers. A resource that the server
// doesn't know has none. An error about one resource doesn't keep it from the others:
// all errors are returned together, and the number is then that of the other resources.
func Empty(ctx context.Context, client metadata.Interface, namespace string, resources []schema.GroupVersionResource) (remaining int, err error) {
	var errs []error
	for _, resource := range resources {
		left, err := empty(ctx, client, namespace, resource)
		remaining += left.objects
		if err != nil {
			errs = append(errs, err)
		}
	}
	return remaining, errors.Join(errs...)
}

// empty deletes all objects of one resource in a namespace and returns what is left.
func empty(ctx context.Context, client metadata.Interface, namespace string, resource schema.GroupVersionResource) (content, error) {
	objects := client.Resource(resource).Namespace(namespace)
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}

	err := withTimeout(ctx, func(ctx context.Context) error {
		return objects.DeleteCollection(ctx, options, metav1.ListOptions{})
	})
	switch {
	case apierrors.IsMethodNotSupported(err):
		err = eachObject(ctx, objects, func(object *metav1.PartialObjectMetadata) error {
			if object.DeletionTimestamp != nil {
				return nil
			}
			err := withTimeout(ctx, func(ctx context.Context) error { return objects.Delete(ctx, object.Name, options) })
			if apierrors.IsNotFound(err) {
				return nil // Somebody was faster.
			}
			return err
		})
	case apierrors.IsNotFound(err):
		return content{}, nil // The resource itself is gone, and its objects with it.
	}
	if err != nil {
		return content{}, fmt.Errorf("delete %s: %w", resource.GroupResource(), err)
	}
	left := content{finalizers: map[string]int{}}
	err = eachObject(ctx, objects, func(object *metav1.PartialObjectMetadata) error {
		left.objects++
		for _, finalizer := range object.Finalizers {
			left.finalizers[finalizer]++
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return left, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return left, nil
}

// eachObject calls do with every object, page by page.
func eachObject(ctx context.Context, objects metadata.ResourceInterface, do func(*metav1.PartialObjectMetadata) error) error {
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		var page *metav1.PartialObjectMetadataList
		err := withTimeout(ctx, func(ctx context.Context) (err error) {
			page, err = objects.List(ctx, options)
			return err
		})
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}

func withTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx)
}
