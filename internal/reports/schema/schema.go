// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed schemas.yaml
var document []byte

// Schema is that of one kind.
type Schema struct {
	// Kind that it describes.
	Kind schema.GroupVersionKind

	published  apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	// root is the schema as Normalize reads it.
	root *node
}

// Of returns the schema of a kind, or an error if the kind has none.
func Of(kind schema.GroupVersionKind) (*Schema, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	found, ok := all[kind]
	if !ok {
		return nil, fmt.Errorf("there is no schema of %s", kind)
	}
	return found, nil
}

// The embedded document is the same for the whole process.
var load = sync.OnceValues(func() (map[schema.GroupVersionKind]*Schema, error) { return parse(document) })

// parse reads a document like schemas.yaml.
func parse(data []byte) (map[schema.GroupVersionKind]*Schema, error) {
	var read struct {
		// Definitions are only there to be referred to within the document.
		Definitions any `json:"definitions"`
		Kinds       []struct {
			Group   string                          `json:"group"`
			Version string                          `json:"version"`
			Kind    string                          `json:"kind"`
			Schema  apiextensionsv1.JSONSchemaProps `json:"schema"`
		} `json:"kinds"`
	}
	if err := yaml.UnmarshalStrict(data, &read); err != nil {
		return nil, fmt.Errorf("read the schemas of reports: %w", err)
	}
	all := map[schema.GroupVersionKind]*Schema{}
	for _, k := range read.Kinds {
		kind := schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
		built, err := build(kind, k.Schema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", kind, err)
		}
		all[kind] = built
	}
	return all, nil
}

func build(kind schema.GroupVersionKind, published apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&published, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	if errs := structuralschema.ValidateStructural(nil, structural); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &Schema{
		Kind: kind, published: published, structural: structural, validator: validator,
		root: compile(structural, isReserved),
	}, nil
}

// Published returns the schema as a custom resource definition states it. The caller
// may change it.
func (s *Schema) Published() *apiextensionsv1.JSONSchemaProps { return s.published.DeepCopy() }

// isReserved says whether a member of a report is not part of its body.
func isReserved(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata":
		return true
	}
	return false
}
