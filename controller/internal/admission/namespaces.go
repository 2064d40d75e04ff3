// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"golang.org/x/sync/singleflight"

	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

//nolint:gochecknoglobals // A constant.
var namespaceResource = served.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Listable: true,
}

// namespaces knows the labels of all namespaces, and nothing else of them. It is the store of its
// source.
type namespaces struct {
	client dynamic.Interface
	source *source.Source
	single singleflight.Group

	mu     sync.RWMutex
	labels map[string]map[string]string
}

// of returns the labels of a namespace, which nobody changes. One that is not known yet is read; one
// that does not exist has none.
func (n *namespaces) of(ctx context.Context, name string) (map[string]string, error) {
	n.mu.RLock()
	labels, known := n.labels[name]
	n.mu.RUnlock()
	if known || name == "" {
		return labels, nil
	}
	answers := n.single.DoChan(name, func() (any, error) {
		// Others may wait for it, too: it ends for itself.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
		defer cancel()
		object, err := n.client.Resource(namespaceResource.GroupVersionResource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return map[string]string(nil), nil
		}
		if err != nil {
			return nil, err
		}
		return object.GetLabels(), nil
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("labels of the namespace %s: %w", name, ctx.Err())
	case answer := <-answers:
		if answer.Err != nil {
			return nil, fmt.Errorf("labels of the namespace %s: %w", name, answer.Err)
		}
		labels, _ := answer.Val.(map[string]string)
		return labels, nil
	}
}

// Transformer has the reflector keep what it collects as small as this store does.
func (n *namespaces) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("namespaces: object of the type %T", object)
		}
		slim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind()}}
		slim.SetName(u.GetName())
		slim.SetLabels(u.GetLabels())
		slim.SetResourceVersion(u.GetResourceVersion())
		return slim, nil
	}
}

// Add is called for a namespace that is new.
func (n *namespaces) Add(object any) error { return n.Update(object) }

// Update is called for a namespace that changed.
func (n *namespaces) Update(object any) error {
	u, err := asObject(object)
	if err != nil {
		return err
	}
	labels := u.GetLabels()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.labels[u.GetName()] = labels
	return nil
}

// Delete is called for a namespace that is gone.
func (n *namespaces) Delete(object any) error {
	u, err := asObject(object)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.labels, u.GetName())
	return nil
}

// Replace is called with all namespaces.
func (n *namespaces) Replace(objects []any, _ string) error {
	labels := make(map[string]map[string]string, len(objects))
	for _, object := range objects {
		u, err := asObject(object)
		if err != nil {
			return err
		}
		labels[u.GetName()] = u.GetLabels()
	}
	n.mu.Lock()
	n.labels = labels
	n.mu.Unlock()
	n.source.SetListed()
	return nil
}

// Resync does nothing.
func (n *namespaces) Resync() error { return nil }

func asObject(object any) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	return nil, fmt.Errorf("watched object of the type %T", object)
}
