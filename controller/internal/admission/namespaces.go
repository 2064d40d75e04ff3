// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"golang.org/x/sync/singleflight"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

//nolint:gochecknoglobals // A constant.
var namespaceResource = served.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Listable: true,
}

// namespaces knows all namespaces as policies see them. It is the store of its source.
type namespaces struct {
	client dynamic.Interface
	source *source.Source
	single singleflight.Group

	mu    sync.RWMutex
	known map[string]*corev1.Namespace
}

// none stands for a namespace that does not exist, and for no namespace.
var none = &corev1.Namespace{} //nolint:gochecknoglobals // A constant.

// of returns a namespace, which nobody changes. One that is not known yet is read; one that does not
// exist is none.
func (n *namespaces) of(ctx context.Context, name string) (*corev1.Namespace, error) {
	if name == "" {
		return none, nil
	}
	n.mu.RLock()
	namespace, known := n.known[name]
	n.mu.RUnlock()
	if known {
		return namespace, nil
	}
	answers := n.single.DoChan(name, func() (any, error) {
		// Others may wait for it, too: it ends for itself.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), policy.DefaultReviewTimeout)
		defer cancel()
		object, err := n.client.Resource(namespaceResource.GroupVersionResource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		if err != nil {
			return nil, err
		}
		return policy.NamespaceOf(object)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("read the namespace %s: %w", name, ctx.Err())
	case answer := <-answers:
		if answer.Err != nil {
			return nil, fmt.Errorf("read the namespace %s: %w", name, answer.Err)
		}
		namespace, _ := answer.Val.(*corev1.Namespace)
		return namespace, nil
	}
}

// Transformer has the reflector keep what it collects as small as this store does.
func (n *namespaces) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("namespaces: object of the type %T", object)
		}
		u.SetManagedFields(nil)
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", policy.LastApplied)
		return u, nil
	}
}

// Add is called for a namespace that is new.
func (n *namespaces) Add(object any) error { return n.Update(object) }

// Update is called for a namespace that changed.
func (n *namespaces) Update(object any) error {
	namespace, err := asNamespace(object)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[namespace.Name] = namespace
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
	delete(n.known, u.GetName())
	return nil
}

// Replace is called with all namespaces.
func (n *namespaces) Replace(objects []any, _ string) error {
	known := make(map[string]*corev1.Namespace, len(objects))
	for _, object := range objects {
		namespace, err := asNamespace(object)
		if err != nil {
			return err
		}
		known[namespace.Name] = namespace
	}
	n.mu.Lock()
	n.known = known
	n.mu.Unlock()
	n.source.SetListed()
	return nil
}

// Resync does nothing.
func (n *namespaces) Resync() error { return nil }

func asNamespace(object any) (*corev1.Namespace, error) {
	u, err := asObject(object)
	if err != nil {
		return nil, err
	}
	return policy.NamespaceOf(u)
}

func asObject(object any) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	return nil, fmt.Errorf("watched object of the type %T", object)
}
