// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// strategies judge whole objects as kube-apiserver does: they are its own, which say
// everything about metadata first.
type strategies struct {
	kind       schema.GroupVersionKind
	namespaced bool
	main       interface {
		updateValidator
		Validate(ctx context.Context, object runtime.Object) field.ErrorList
	}
	status updateValidator
}

type updateValidator interface {
	ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList
}

// Library is what the library knows of a version of a kind.
type Library struct {
	Structural   *structuralschema.Structural
	Validator    validation.SchemaValidator
	Subresources apiextensions.CustomResourceSubresources
	// status is the validator of the subresource; nil if there is none.
	status validation.SchemaValidator
}

func newLibrary(version *apiextensionsv1.CustomResourceDefinitionVersion) (l Library, err error) {
	var internal apiextensions.JSONSchemaProps
	published := version.Schema.OpenAPIV3Schema.DeepCopy()
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(published, &internal, nil); err != nil {
		return l, err
	}
	if subresources := version.Subresources; subresources != nil {
		err := apiextensionsv1.Convert_v1_CustomResourceSubresources_To_apiextensions_CustomResourceSubresources(subresources, &l.Subresources, nil)
		if err != nil {
			return l, err
		}
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return l, err
	}
	if errs := structuralschema.ValidateStructural(nil, structural); len(errs) > 0 {
		return l, errs.ToAggregate()
	}
	l.Structural = structural.DeepCopy() // Its defaults belong to internal.
	if err := defaulting.PruneDefaults(l.Structural); err != nil {
		return l, err
	}
	if l.Validator, _, err = validation.NewSchemaValidator(&internal); err != nil {
		return l, err
	}
	if status, ok := internal.Properties["status"]; ok && l.Subresources.Status != nil {
		l.status, _, err = validation.NewSchemaValidator(&status)
	}
	return l, err
}

func (l *Library) strategies(kind schema.GroupVersionKind, namespaced bool) *strategies {
	main := customresource.NewStrategy(nil, namespaced, kind, l.Validator, l.status, l.Structural, l.Subresources.Status, l.Subresources.Scale, nil)
	return &strategies{kind, namespaced, main, customresource.NewStatusStrategy(main)}
}

// withoutExpressions returns a copy of a schema without rules in CEL, nil if it has none.
func withoutExpressions(structural *structuralschema.Structural) *structuralschema.Structural {
	found := false
	remove := func(rules *structuralschema.ValidationExtensions) bool {
		had := len(rules.XValidations) > 0
		found = found || had
		rules.XValidations = nil
		return had
	}
	without := structural.DeepCopy()
	(&structuralschema.Visitor{
		Structural:            func(s *structuralschema.Structural) bool { return remove(&s.ValidationExtensions) },
		NestedValueValidation: func(n *structuralschema.NestedValueValidation) bool { return remove(&n.ValidationExtensions) },
	}).Visit(without)
	if !found {
		return nil
	}
	return without
}

// Validate says what is wrong with an object, as Coerce left it, except with its metadata, which it must have all the
// same, but not all of it if there is very much: see maxProblems. With a stored object as old, what is wrong there
// already and stays is passed over, as far as the library does so.
func (s *Schema) Validate(ctx context.Context, content, old map[string]any) field.ErrorList {
	return s.trimmed(maxProblems, content, old, func(by *strategies, content map[string]any) field.ErrorList {
		return by.judge(ctx, content, old)
	})
}

// ValidateStatus is Validate for an update of the status subresource.
func (s *Schema) ValidateStatus(ctx context.Context, content, old map[string]any) field.ErrorList {
	return s.trimmed(maxProblems, content, old, func(by *strategies, content map[string]any) field.ErrorList {
		return by.judgeUpdate(ctx, by.status, content, old)
	})
}

func (s *strategies) judge(ctx context.Context, content, old map[string]any) field.ErrorList {
	if old != nil {
		return s.judgeUpdate(ctx, s.main, content, old)
	}
	object := &unstructured.Unstructured{Object: content}
	metadata := apivalidation.ValidateObjectMetaAccessor(object, s.namespaced, apivalidation.NameIsDNSSubdomain, metadataPath)
	return s.without(object, len(metadata), s.main.Validate(ctx, object))
}

func (s *strategies) judgeUpdate(ctx context.Context, by updateValidator, content, old map[string]any) field.ErrorList {
	object, stored := &unstructured.Unstructured{Object: content}, &unstructured.Unstructured{Object: old}
	metadata := apivalidation.ValidateObjectMetaAccessorUpdate(object, stored, metadataPath)
	return s.without(object, len(metadata), by.ValidateUpdate(ctx, object, stored))
}

var metadataPath = field.NewPath("metadata")

// without leaves out the first errors, which are about metadata: the library looks at them if the type is right.
func (s *strategies) without(object *unstructured.Unstructured, metadata int, errs field.ErrorList) field.ErrorList {
	if object.GroupVersionKind() != s.kind {
		return errs
	}
	return errs[metadata:]
}
