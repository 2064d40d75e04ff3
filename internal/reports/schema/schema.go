// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schema is that of one version of a kind.
type Schema struct {
	// Kind that it describes.
	Kind schema.GroupVersionKind
	Library

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
	library, err := newLibrary(&crd.Spec.Versions[at])
	if err != nil {
		return nil, fmt.Errorf("definition %s: version %s: %w", crd.Name, version, err)
	}
	s := &Schema{
		Kind:    schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind},
		Library: library, root: compileRoot(library.Structural),
	}
	namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	s.full = library.strategies(s.Kind, namespaced)
	s.plain = s.full
	if without := withoutExpressions(library.Structural); without != nil {
		library.Structural = without
		s.plain = library.strategies(s.Kind, namespaced)
	}
	if scale := library.Subresources.Scale; scale != nil {
		s.root.addScale(scale)
	}
	return s, nil
}

// isReserved says whether a member of a report is not part of its body.
func isReserved(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata":
		return true
	}
	return false
}
