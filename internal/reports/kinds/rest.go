// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// REST serves one kind from a storage.
type REST[O any] struct {
	*genericregistry.Store

	kind Kind[O]
}

var (
	_ rest.StandardStorage      = &REST[any]{}
	_ rest.ShortNamesProvider   = &REST[any]{}
	_ rest.CategoriesProvider   = &REST[any]{}
	_ rest.SingularNameProvider = &REST[any]{}
)

// NewREST returns what serves a kind from the storage that getter gives. The typer is a
// scheme that knows the kind. The caller calls Destroy when it is done.
func NewREST[O any](kind Kind[O], typer runtime.ObjectTyper, getter generic.RESTOptionsGetter) (*REST[O], error) {
	rules := NewStrategy(kind, typer)
	store := &genericregistry.Store{
		NewFunc:       kind.New,
		NewListFunc:   kind.NewList,
		PredicateFunc: kind.Predicate,

		DefaultQualifiedResource:  kind.GroupResource(),
		SingularQualifiedResource: schema.GroupResource{Group: kind.GroupVersionKind.Group, Resource: kind.Singular},

		CreateStrategy:      rules,
		UpdateStrategy:      rules,
		DeleteStrategy:      rules,
		ResetFieldsStrategy: rules,

		TableConvertor: NewTableConvertor(kind),
	}
	if lifetime := kind.Rules.Lifetime; lifetime > 0 {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return uint64(lifetime.Seconds()), nil }
	}
	options := &generic.StoreOptions{RESTOptions: getter, AttrFunc: kind.GetAttrs}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("open storage of %s: %w", kind.GroupResource(), err)
	}
	return &REST[O]{Store: store, kind: kind}, nil
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST[O]) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST[O]) Categories() []string { return r.kind.Categories }

// OpenAll opens the storage of each row of a table. On an error nothing stays open.
func OpenAll[K any, S rest.Storage](rows []K, open func(K) (S, error)) ([]S, error) {
	opened := make([]S, 0, len(rows))
	for _, row := range rows {
		storage, err := open(row)
		if err != nil {
			for _, other := range opened {
				other.Destroy()
			}
			return nil, err
		}
		opened = append(opened, storage)
	}
	return opened, nil
}
