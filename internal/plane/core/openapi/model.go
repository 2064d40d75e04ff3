// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"maps"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// model is a schema with the fields that models of Kubernetes' types have. spec.Schema
// has more, and takes four times as long to decode, at each start.
type model struct {
	Ref                  string           `json:"$ref"`
	Description          string           `json:"description"`
	Type                 string           `json:"type"`
	Format               string           `json:"format"`
	Default              any              `json:"default"`
	Enum                 []any            `json:"enum"`
	OneOf                []model          `json:"oneOf"`
	Items                *model           `json:"items"`
	AdditionalProperties *model           `json:"additionalProperties"`
	Properties           map[string]model `json:"properties"`
	Required             []string         `json:"required"`
	// V2 is the model in documents of OpenAPI v2, if it differs there.
	V2         *model         `json:"x-kubernetes-v2-schema"`
	Extensions map[string]any `json:",embed"`
}

// definition returns the model with the references that ref makes.
func (m model) definition(ref common.ReferenceCallback) common.OpenAPIDefinition {
	var dependencies []string
	schema := m.schema(func(name string) spec.Ref {
		dependencies = append(dependencies, name)
		return ref(name)
	})
	return common.OpenAPIDefinition{Schema: schema, Dependencies: dependencies}
}

func (m model) schema(ref common.ReferenceCallback) spec.Schema {
	var s spec.Schema
	if m.Ref != "" {
		s.Ref = ref(m.Ref)
	}
	if m.Type != "" {
		s.Type = spec.StringOrArray{m.Type}
	}
	s.Description, s.Format, s.Default = m.Description, m.Format, m.Default
	s.Enum, s.Required = m.Enum, m.Required
	for _, one := range m.OneOf {
		s.OneOf = append(s.OneOf, one.schema(ref))
	}
	if m.Items != nil {
		items := m.Items.schema(ref)
		s.Items = &spec.SchemaOrArray{Schema: &items}
	}
	if m.AdditionalProperties != nil {
		values := m.AdditionalProperties.schema(ref)
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &values}
	}
	if m.Properties != nil {
		s.Properties = make(map[string]spec.Schema, len(m.Properties))
	}
	for name := range m.Properties {
		s.Properties[name] = m.Properties[name].schema(ref)
	}
	s.Extensions = maps.Clone(m.Extensions) // The library adds its own.
	if m.V2 != nil {
		s.AddExtension(common.ExtensionV2Schema, m.V2.schema(ref))
	}
	return s
}
