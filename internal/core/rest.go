// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// stored serves one row of the table from a storage.
type stored struct {
	*genericregistry.Store

	row resource
}

var (
	_ rest.StandardStorage      = &stored{}
	_ rest.ShortNamesProvider   = &stored{}
	_ rest.CategoriesProvider   = &stored{}
	_ rest.SingularNameProvider = &stored{}
)

func newStored(row resource, scheme *runtime.Scheme, getter generic.RESTOptionsGetter) (*stored, error) {
	rules := newStrategy(row, scheme)
	store := &genericregistry.Store{
		NewFunc:     row.newObject,
		NewListFunc: row.newList,

		DefaultQualifiedResource:  row.groupResource(),
		SingularQualifiedResource: schema.GroupResource{Group: row.kind.Group, Resource: row.singular},

		CreateStrategy:      rules,
		UpdateStrategy:      rules,
		DeleteStrategy:      rules,
		ResetFieldsStrategy: rules,

		TableConvertor: newTableConvertor(row),
	}
	if row.lifetime > 0 {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) {
			return uint64(row.lifetime.Seconds()), nil
		}
	}
	options := &generic.StoreOptions{RESTOptions: getter, AttrFunc: row.attributes}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("open storage of %s: %w", row.groupResource(), err)
	}
	return &stored{Store: store, row: row}, nil
}

// ShortNames implements rest.ShortNamesProvider.
func (s *stored) ShortNames() []string { return s.row.shortNames }

// Categories implements rest.CategoriesProvider.
func (s *stored) Categories() []string { return s.row.categories }

// status returns the subresource through which only the status changes.
func (s *stored) status() *subresource {
	rules := newStrategy(s.row, s.CreateStrategy)
	return newSubresource(s.Store, statusStrategy{strategy: rules, changes: statusPart, reset: "spec"})
}
