// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// selecting returns a client whose lists and watches have the selectors of a selection. It calls
// listing when a list begins.
func selecting(client dynamic.Interface, s selection, listing func()) dynamic.Interface {
	var byField []string
	if s.fields != "" {
		byField = append(byField, s.fields)
	}
	if s.name != "" {
		byField = append(byField, fields.OneTermEqualSelector("metadata.name", s.name).String())
	}
	return &selectingClient{Interface: client, labels: s.labels, fields: strings.Join(byField, ","), listing: listing}
}

type selectingClient struct {
	dynamic.Interface
	labels, fields string
	listing        func()
}

// Resource implements dynamic.Interface.
func (c *selectingClient) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	inner := c.Interface.Resource(resource)
	return &selectingResource{selectingNamespace: selectingNamespace{ResourceInterface: inner, client: c}, inner: inner}
}

type selectingResource struct {
	selectingNamespace
	inner dynamic.NamespaceableResourceInterface
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r *selectingResource) Namespace(namespace string) dynamic.ResourceInterface {
	return &selectingNamespace{ResourceInterface: r.inner.Namespace(namespace), client: r.client}
}

type selectingNamespace struct {
	dynamic.ResourceInterface
	client *selectingClient
}

// List implements dynamic.ResourceInterface.
func (n *selectingNamespace) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	options.LabelSelector, options.FieldSelector = n.client.labels, n.client.fields
	if options.Continue == "" {
		n.client.listing()
	}
	return n.ResourceInterface.List(ctx, options)
}

// Watch implements dynamic.ResourceInterface.
func (n *selectingNamespace) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector, options.FieldSelector = n.client.labels, n.client.fields
	return n.ResourceInterface.Watch(ctx, options)
}
