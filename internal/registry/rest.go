// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// REST serves one kind of report from a storage.
type REST struct {
	*genericregistry.Store

	kind Kind
	// encoded is Store for answers of JSON; nil if the storage has none.
	encoded *genericregistry.Store
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// NewREST returns what serves kind from the storage that optsGetter gives. The
// scheme is that of [NewScheme]. The caller calls Destroy when it is done.
func NewREST(kind Kind, scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*REST, error) {
	rules := newStrategy(kind, scheme)
	store := &genericregistry.Store{
		NewFunc:       kind.New,
		NewListFunc:   kind.NewList,
		PredicateFunc: kind.Predicate,

		DefaultQualifiedResource: kind.GroupResource(),
		SingularQualifiedResource: schema.GroupResource{
			Group: kind.GroupVersionKind.Group, Resource: kind.Singular,
		},

		CreateStrategy: rules,
		UpdateStrategy: rules,
		DeleteStrategy: rules,

		TableConvertor: newTableConvertor(kind.Columns),
	}
	options := &generic.StoreOptions{RESTOptions: optsGetter, AttrFunc: kind.GetAttrs}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("open storage of %s: %w", kind.GroupResource(), err)
	}
	return &REST{Store: store, kind: kind, encoded: encodedStore(store, kind)}, nil
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return r.kind.Categories }
