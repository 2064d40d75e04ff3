// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// statusStrategy lets an update change one part of an object and nothing else.
type statusStrategy struct {
	strategy

	// changes is the Go field that may change, reset the field that doesn't.
	changes, reset string
}

// PrepareForUpdate takes everything from the stored object but the part that may
// change, and who manages it.
func (s statusStrategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	incoming, err := meta.Accessor(object)
	if err != nil {
		return
	}
	kept := old.DeepCopyObject()
	metadata, err := meta.Accessor(kept)
	if err != nil {
		return
	}
	metadata.SetResourceVersion(incoming.GetResourceVersion())
	metadata.SetManagedFields(incoming.GetManagedFields())
	part(kept, s.changes).Set(part(object, s.changes))
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(kept).Elem())
}

// ValidateUpdate implements rest.RESTUpdateStrategy. Who writes a status is trusted.
func (statusStrategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.row, s.reset)
}

// subresource updates a part of objects that another storage has.
type subresource struct {
	store *genericregistry.Store
}

var (
	_ rest.Patcher             = &subresource{}
	_ rest.ResetFieldsStrategy = &subresource{}
	_ rest.TableConvertor      = &subresource{}
)

// newSubresource shares the storage of parent, which the caller destroys.
func newSubresource(parent *genericregistry.Store, rules statusStrategy) *subresource {
	store := *parent
	store.UpdateStrategy = rules
	store.ResetFieldsStrategy = rules
	return &subresource{store: &store}
}

// New implements rest.Storage.
func (s *subresource) New() runtime.Object { return s.store.New() }

// Destroy does nothing: the storage is that of the parent.
func (s *subresource) Destroy() {}

// Get implements rest.Getter.
func (s *subresource) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates an object.
func (s *subresource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s *subresource) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (s *subresource) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, object, options)
}
