// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Strategy applies the rules for creating, updating and deleting objects of one kind. It
// is safe for concurrent use.
type Strategy[O any] struct {
	runtime.ObjectTyper
	names.NameGenerator

	kind Kind[O]
}

var (
	_ rest.RESTCreateStrategy              = &Strategy[any]{}
	_ rest.RESTUpdateStrategy              = &Strategy[any]{}
	_ rest.RESTDeleteStrategy              = &Strategy[any]{}
	_ rest.GarbageCollectionDeleteStrategy = &Strategy[any]{}
	_ rest.ResetFieldsStrategy             = &Strategy[any]{}
)

// NewStrategy returns the strategy of a kind. The typer knows the types of its objects.
func NewStrategy[O any](kind Kind[O], typer runtime.ObjectTyper) *Strategy[O] {
	return &Strategy[O]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s *Strategy[O]) NamespaceScoped() bool { return s.kind.Namespaced }

// PrepareForCreate starts generations at one, in kinds that have them.
func (s *Strategy[O]) PrepareForCreate(_ context.Context, object runtime.Object) {
	incoming, err := s.read(object)
	if err != nil {
		return // Validate says so.
	}
	if s.kind.Rules.Prepare != nil {
		var none O
		s.kind.Rules.Prepare(incoming, none)
	}
	generation := int64(0)
	if s.kind.Rules.Changed != nil {
		generation = 1
	}
	setGeneration(object, generation)
}

// PrepareForUpdate raises the generation if what it counts changes.
func (s *Strategy[O]) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	incoming, stored, err := s.readBoth(object, old)
	if err != nil {
		return // ValidateUpdate says so.
	}
	if s.kind.Rules.Prepare != nil {
		s.kind.Rules.Prepare(incoming, stored)
	}
	generation := int64(0)
	if metadata, err := meta.Accessor(old); err == nil {
		generation = metadata.GetGeneration()
	}
	if s.kind.Rules.Changed != nil && s.kind.Rules.Changed(incoming, stored) {
		generation++
	}
	setGeneration(object, generation)
}

// Validate implements rest.RESTCreateStrategy.
func (s *Strategy[O]) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	incoming, err := s.read(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var none O
	errs := validation.ValidateObjectMetaAccessor(metadata, s.kind.Namespaced, s.kind.Rules.ValidateName, field.NewPath("metadata"))
	return s.bounded(append(errs, s.validate(ctx, incoming, none)...))
}

// ValidateUpdate implements rest.RESTUpdateStrategy. The library checks the metadata.
func (s *Strategy[O]) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	incoming, stored, err := s.readBoth(object, old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return s.bounded(s.validate(ctx, incoming, stored))
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s *Strategy[O]) WarningsOnCreate(_ context.Context, object runtime.Object) []string {
	incoming, err := s.read(object)
	if err != nil || s.kind.Rules.Warnings == nil {
		return nil
	}
	var none O
	return s.kind.Rules.Warnings(incoming, none)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy[O]) WarningsOnUpdate(_ context.Context, object, old runtime.Object) []string {
	incoming, stored, err := s.readBoth(object, old)
	if err != nil || s.kind.Rules.Warnings == nil {
		return nil
	}
	return s.kind.Rules.Warnings(incoming, stored)
}

// Canonicalize is called once an object was found to be valid. It is stored as it is.
func (s *Strategy[O]) Canonicalize(object runtime.Object) {
	if accepted, err := s.read(object); err == nil && s.kind.Rules.Accept != nil {
		s.kind.Rules.Accept(accepted)
	}
}

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy[O]) AllowCreateOnUpdate() bool { return s.kind.Rules.CreateOnUpdate }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (s *Strategy[O]) AllowUnconditionalUpdate() bool { return s.kind.Rules.UnconditionalUpdate }

// DefaultGarbageCollectionPolicy deletes what an object owns in the background, unless
// the request says otherwise.
func (s *Strategy[O]) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s *Strategy[O]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields(s.kind, s.kind.Rules.ResetFields)
}

func resetFields[O any](kind Kind[O], names []string) map[fieldpath.APIVersion]*fieldpath.Set {
	if len(names) == 0 {
		return nil
	}
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(kind.GroupVersion().String()): set}
}

func (s *Strategy[O]) read(object runtime.Object) (O, error) {
	return read[O](object, s.kind.GroupVersionKind)
}

func (s *Strategy[O]) readBoth(object, old runtime.Object) (incoming, stored O, err error) {
	if incoming, err = s.read(object); err != nil {
		return incoming, stored, err
	}
	stored, err = s.read(old)
	return incoming, stored, err
}

func (s *Strategy[O]) validate(ctx context.Context, object, old O) field.ErrorList {
	if s.kind.Rules.Validate == nil {
		return nil
	}
	return s.kind.Rules.Validate(ctx, object, old)
}

func (s *Strategy[O]) bounded(errs field.ErrorList) field.ErrorList {
	if limit := s.kind.Rules.MaxErrors; limit > 0 && len(errs) > limit {
		return errs[:limit]
	}
	return errs
}

func setGeneration(object runtime.Object, generation int64) {
	if metadata, err := meta.Accessor(object); err == nil {
		metadata.SetGeneration(generation)
	}
}
