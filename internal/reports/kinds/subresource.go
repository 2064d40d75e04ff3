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

// Part is what an update through a subresource changes.
type Part[O any] struct {
	// Keep takes everything from the stored object but the part.
	Keep func(object, old O)
	// Validate says what is wrong with the part; nil trusts the caller.
	Validate func(ctx context.Context, object, old O) field.ErrorList
	// ResetFields names the fields that don't change: those who apply them don't come to own them.
	ResetFields []string
}

// partStrategy lets an update change one part of an object and nothing else.
type partStrategy[O any] struct {
	*Strategy[O]

	part Part[O]
}

// PrepareForUpdate implements rest.RESTUpdateStrategy. The generation stays.
func (s *partStrategy[O]) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	if incoming, stored, err := s.readBoth(object, old); err == nil {
		s.part.Keep(incoming, stored)
	}
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s *partStrategy[O]) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	incoming, stored, err := s.readBoth(object, old)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(nil, err)}
	case s.part.Validate == nil:
		return nil
	}
	return s.bounded(s.part.Validate(ctx, incoming, stored))
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s *partStrategy[O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.kind, s.part.ResetFields)
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
// destroys.
func (r *REST[O]) Subresource(part Part[O]) *Subresource {
	rules := &partStrategy[O]{Strategy: NewStrategy(r.kind, r.CreateStrategy), part: part}
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
