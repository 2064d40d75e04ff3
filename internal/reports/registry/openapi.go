// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/reports/schema"
)

// CRD returns a custom resource definition of k as the policy engines publish it, without
// descriptions and printed columns.
func (k Kind) CRD() (*apiextensionsv1.CustomResourceDefinition, error) {
	published, err := schema.Of(k.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	scope := apiextensionsv1.ClusterScoped
	if k.Namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural: k.Resource, Singular: k.Singular, ShortNames: k.ShortNames,
		Categories: k.Categories, Kind: k.GroupVersionKind.Kind, ListKind: k.ListKind().Kind,
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: k.GroupResource().String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: k.GroupVersionKind.Group, Scope: scope, Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: k.GroupVersionKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: published.Published()},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}, nil
}

// OpenAPIDefinitions returns the models of all kinds, as kube-apiserver makes them of
// custom resource definitions, and of the types that each API server needs.
func OpenAPIDefinitions() (common.GetOpenAPIDefinitions, error) {
	models := map[string]spec.Schema{}
	for _, kind := range Kinds() {
		if err := kind.addModels(models); err != nil {
			return nil, fmt.Errorf("OpenAPI models of %s: %w", kind.GroupResource(), err)
		}
	}
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		definitions := generatedopenapi.GetOpenAPIDefinitions(ref)
		for name, model := range models {
			resolved, dependencies := referring(model, ref)
			definitions[name] = common.OpenAPIDefinition{Schema: resolved, Dependencies: dependencies}
		}
		return definitions
	}, nil
}

// addModels adds the models of the kind and of its list, by name.
func (k Kind) addModels(models map[string]spec.Schema) error {
	crd, err := k.CRD()
	if err != nil {
		return err
	}
	built, err := builder.BuildOpenAPIV3(crd, k.GroupVersionKind.Version, builder.Options{})
	if err != nil {
		return err
	}
	for _, object := range []any{k.New(), k.NewList()} {
		named, ok := object.(interface{ OpenAPIModelName() string })
		if !ok {
			return fmt.Errorf("%T has no name in OpenAPI documents", object)
		}
		model, ok := built.Components.Schemas[named.OpenAPIModelName()]
		if !ok {
			return fmt.Errorf("there is no model %s", named.OpenAPIModelName())
		}
		models[named.OpenAPIModelName()] = *model
	}
	return nil
}

// componentPath is where models of OpenAPI v3 refer to each other.
const componentPath = "#/components/schemas/"

// referring returns a copy of a model with the references that ref makes, and the names that
// it refers to.
func referring(model spec.Schema, ref common.ReferenceCallback) (spec.Schema, []string) {
	var names []string
	var resolve func(spec.Schema) spec.Schema
	resolve = func(s spec.Schema) spec.Schema {
		if name, ok := strings.CutPrefix(s.Ref.String(), componentPath); ok {
			names = append(names, name)
			s.Ref = ref(name)
		}
		s.AllOf = slices.Clone(s.AllOf)
		for i := range s.AllOf {
			s.AllOf[i] = resolve(s.AllOf[i])
		}
		if s.Items != nil && s.Items.Schema != nil {
			items := resolve(*s.Items.Schema)
			s.Items = &spec.SchemaOrArray{Schema: &items}
		}
		s.Properties = maps.Clone(s.Properties)
		for name, property := range s.Properties {
			s.Properties[name] = resolve(property)
		}
		return s
	}
	return resolve(model), names
}
