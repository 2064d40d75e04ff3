// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is one row of a table of kinds, whose objects are read as O. Rows are read-only.
type Kind[O any] struct {
	// GroupVersionKind is what clients see; it is also the stored version.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in URLs.
	Resource string
	// Singular, ShortNames and Categories are further names that kubectl accepts.
	Singular   string
	ShortNames []string
	Categories []string
	// Namespaced is false for kinds that live outside namespaces.
	Namespaced bool
	// List is the kind of a list; empty stands for the kind with "List" after it.
	List string
	// New and NewList return an empty object and an empty list.
	New     func() runtime.Object
	NewList func() runtime.Object
	// Columns are printed in this order.
	Columns []Column[O]
	// SelectableFields can be used in field selectors, besides metadata.name and,
	// in namespaced kinds, metadata.namespace.
	SelectableFields []SelectableField[O]
	// Rules are those for writing objects.
	Rules Rules[O]
}

// GroupVersion returns the group and version in which k is served and stored.
func (k Kind[O]) GroupVersion() schema.GroupVersion {
	return k.GroupVersionKind.GroupVersion()
}

// GroupResource returns the name under which objects of k are stored.
func (k Kind[O]) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersionKind.Group, Resource: k.Resource}
}

// GroupVersionResource returns the name of k in URLs.
func (k Kind[O]) GroupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// ListKind returns the kind of a list of k.
func (k Kind[O]) ListKind() schema.GroupVersionKind {
	return k.GroupVersion().WithKind(cmp.Or(k.List, k.GroupVersionKind.Kind+"List"))
}

// read returns object as what rules, columns and fields take. Anything else is a bug of
// the caller, which no request can cause.
func read[O any](object runtime.Object, kind schema.GroupVersionKind) (O, error) {
	typed, ok := object.(O)
	if !ok {
		return typed, fmt.Errorf("object is a %T, not a %s", object, kind.Kind)
	}
	return typed, nil
}
