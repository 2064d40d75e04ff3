// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// partStrategy lets an update change one part of an object and nothing else.
type partStrategy[O any] struct {
	*Strategy[O]

	// keep takes everything from the stored object but the part.
	keep func(object, old O)
	// reset names the field that doesn't change.
	reset string
}

// PrepareForUpdate implements rest.RESTUpdateStrategy. The generation stays.
func (s *partStrategy[O]) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	if incoming, stored, err := s.readBoth(object, old); err == nil {
		s.keep(incoming, stored)
	}
}

// ValidateUpdate implements rest.RESTUpdateStrategy. Who writes a status is trusted.
func (s *partStrategy[O]) ValidateUpdate(_ context.Context, object, old runtime.Object) field.ErrorList {
	if _, _, err := s.readBoth(object, old); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s *partStrategy[O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.kind, s.reset)
}

// Subresource updates a part of the objects that another storage has.
type Subresource struct {
	store *genericregistry.Store
}

var (
	_ rest.Patcher             = &Subresource{}
	_ rest.ResetFieldsStrategy = &Subresource{}
	_ rest.TableConvertor      = &Subresource{}
)

// Subresource returns a subresource that shares the storage of r, which the caller
// destroys. Of an update it takes what keep leaves in the incoming object. Those who apply
// an object through it don't come to own the field called reset.
func (r *REST[O]) Subresource(keep func(object, old O), reset string) *Subresource {
	rules := &partStrategy[O]{Strategy: NewStrategy(r.kind, r.CreateStrategy), keep: keep, reset: reset}
	store := *r.Store
	store.UpdateStrategy = rules
	store.ResetFieldsStrategy = rules
	return &Subresource{store: &store}
}

// New implements rest.Storage.
func (s *Subresource) New() runtime.Object { return s.store.New() }

// Destroy does nothing: the storage belongs to the parent.
func (s *Subresource) Destroy() {}

// Get implements rest.Getter.
func (s *Subresource) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates an object.
func (s *Subresource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s *Subresource) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (s *Subresource) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, object, options)
}
