// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
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

// content counts the remaining objects of one resource in one namespace.
type content struct {
	objects    int
	finalizers map[string]int // how many of the objects each one holds
	undeleted  []string       // names of those that have not been deleted yet
}

// empty deletes all objects of one resource in a namespace and returns those that remain.
//
// Only a list afterwards shows what was deleted: some servers delete the objects as
// asked, and then fail to answer, since they offer an encoding that their types lack.
func empty(ctx context.Context, client metadata.Interface, namespace string, resource schema.GroupVersionResource) (content, error) {
	objects := client.Resource(resource).Namespace(namespace)
	refused := withTimeout(ctx, func(ctx context.Context) error {
		return objects.DeleteCollection(ctx, deleteOptions(), metav1.ListOptions{})
	})
	if apierrors.IsNotFound(refused) {
		return content{}, nil // The resource itself is gone, and its objects with it.
	}
	left, err := look(ctx, objects)
	if err == nil && refused != nil && len(left.undeleted) > 0 {
		// The server can't delete many at once, or not now.
		refused = deleteEach(ctx, objects, left.undeleted)
		left, err = look(ctx, objects)
	}
	switch {
	case apierrors.IsNotFound(err):
		return content{}, nil
	case err != nil:
		return left, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	case refused != nil && len(left.undeleted) > 0:
		return left, fmt.Errorf("delete %s: %w", resource.GroupResource(), refused)
	}
	return left, nil
}

func deleteOptions() metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{PropagationPolicy: &background}
}

// deleteEach deletes objects one by one, and returns the first error.
func deleteEach(ctx context.Context, objects metadata.ResourceInterface, names []string) error {
	var first error
	for _, name := range names {
		err := withTimeout(ctx, func(ctx context.Context) error { return objects.Delete(ctx, name, deleteOptions()) })
		if err != nil && !apierrors.IsNotFound(err) && first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return first
		}
	}
	return first
}

// look counts the objects that exist now.
func look(ctx context.Context, objects metadata.ResourceInterface) (content, error) {
	left := content{finalizers: map[string]int{}}
	err := eachObject(ctx, objects, func(object *metav1.PartialObjectMetadata) {
		left.objects++
		if object.DeletionTimestamp == nil {
			left.undeleted = append(left.undeleted, object.Name)
		}
		for _, finalizer := range object.Finalizers {
			left.finalizers[finalizer]++
		}
	})
	return left, err
}

// eachObject calls do with every object, page by page.
func eachObject(ctx context.Context, objects metadata.ResourceInterface, do func(*metav1.PartialObjectMetadata)) error {
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
			do(&page.Items[i])
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
