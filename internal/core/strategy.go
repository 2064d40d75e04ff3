// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// strategy holds the rules for creating, updating and deleting objects of one row.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator

	row resource
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.RESTDeleteStrategy              = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
	_ rest.ResetFieldsStrategy             = strategy{}
)

func newStrategy(row resource, typer runtime.ObjectTyper) strategy {
	return strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, row: row}
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s strategy) NamespaceScoped() bool { return s.row.namespaced }

// PrepareForCreate starts generations at one. Nobody creates an object with a status.
func (s strategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	if s.row.status {
		clearPart(object, statusPart)
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetGeneration(0)
		if s.row.counted != "" {
			accessor.SetGeneration(1)
		}
	}
	if s.row.prepare != nil {
		s.row.prepare(object, nil)
	}
}

// PrepareForUpdate keeps the status, and raises the generation if what is wanted
// changes.
func (s strategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	if s.row.status {
		copyPart(object, old, statusPart)
	}
	if s.row.prepare != nil {
		s.row.prepare(object, old)
	}
	if s.row.counted != "" && !samePart(object, old, s.row.counted) {
		if accessor, err := meta.Accessor(object); err == nil {
			accessor.SetGeneration(accessor.GetGeneration() + 1)
		}
	}
}

// Validate implements rest.RESTCreateStrategy.
func (s strategy) Validate(_ context.Context, object runtime.Object) field.ErrorList {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return field.ErrorList{wrongType(object)}
	}
	errs := apimachineryvalidation.ValidateObjectMetaAccessor(accessor, s.row.namespaced, s.row.validateName, field.NewPath("metadata"))
	if s.row.validate != nil {
		errs = append(errs, s.row.validate(object, nil)...)
	}
	return errs
}

// ValidateUpdate checks what the update changes. An object that was stored before a
// rule existed can still be labelled and lose its finalizers.
func (s strategy) ValidateUpdate(_ context.Context, object, old runtime.Object) field.ErrorList {
	if s.row.validate == nil || sameContent(object, old) {
		return nil
	}
	return s.row.validate(object, old)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s strategy) WarningsOnCreate(context.Context, runtime.Object) []string {
	if s.row.warning == "" {
		return nil
	}
	return []string{s.row.warning}
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy. Whoever created the object was
// warned.
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// Canonicalize implements rest.RESTCreateStrategy. Objects are stored as prepared.
func (strategy) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (s strategy) AllowCreateOnUpdate() bool { return s.row.createOnUpdate }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (s strategy) AllowUnconditionalUpdate() bool { return !s.row.conditionalUpdate }

// DefaultGarbageCollectionPolicy deletes what an object owns in the background, unless
// the request says otherwise.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields keeps those who apply a status along with an object from owning it.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.row.status {
		return nil
	}
	return resetFields(s.row, "status")
}

func resetFields(row resource, field string) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(row.groupVersion().String()): fieldpath.NewSet(fieldpath.MakePathOrDie(field)),
	}
}

// sameContent reports whether two objects differ in nothing but their metadata.
func sameContent(a, b runtime.Object) bool {
	before := reflect.ValueOf(b).Elem()
	for i := range before.NumField() {
		switch name := before.Type().Field(i).Name; name {
		case "TypeMeta", metadataPart:
		default:
			if !samePart(a, b, name) {
				return false
			}
		}
	}
	return true
}
