// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed schemas.yaml
var document []byte

// Schema is that of one version of a kind.
type Schema struct {
	// Kind that it describes.
	Kind schema.GroupVersionKind

	published  apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	// full are the strategies of the kind, plain those without rules in CEL.
	full, plain *strategies
	// root is the schema as Normalize reads it.
	root *node
}

// New returns the schema of one version of a definition that the library accepts.
func New(crd *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if at < 0 || crd.Spec.Versions[at].Schema == nil || crd.Spec.Versions[at].Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("definition %s: there is no schema of version %s", crd.Name, version)
	}
	v := &crd.Spec.Versions[at]
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
	s, err := build(kind, crd.Spec.Scope == apiextensionsv1.NamespaceScoped, *v.Schema.OpenAPIV3Schema.DeepCopy(), v.Subresources)
	if err != nil {
		return nil, fmt.Errorf("definition %s: version %s: %w", crd.Name, version, err)
	}
	return s, nil
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
		// No rule of these schemas looks at the scope.
		built, err := build(kind, false, k.Schema, nil)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", kind, err)
		}
		all[kind] = built
	}
	return all, nil
}

func build(kind schema.GroupVersionKind, namespaced bool, published apiextensionsv1.JSONSchemaProps,
	subresources *apiextensionsv1.CustomResourceSubresources,
) (*Schema, error) {
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
	structural = structural.DeepCopy() // Its defaults belong to internal.
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	full, plain, err := newStrategies(kind, namespaced, &internal, structural, subresources)
	if err != nil {
		return nil, err
	}
	root := compileRoot(structural)
	if subresources != nil && subresources.Scale != nil {
		root.addScale(subresources.Scale)
	}
	return &Schema{Kind: kind, published: published, structural: structural, full: full, plain: plain, root: root}, nil
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
