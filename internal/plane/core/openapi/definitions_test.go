// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestDefinitionsHaveWholeDocument fails if the document has a field that model does
// not know.
func TestDefinitionsHaveWholeDocument(t *testing.T) {
	definitions := definitions(t)
	var models map[string]any
	testkit.NoError(t, json.Unmarshal(document, &models))
	if len(models) == 0 {
		t.Fatal("the document is empty")
	}
	for name, want := range models {
		encoded, err := json.Marshal(definitions[name].Schema)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got any
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		testkit.NoDiff(t, cmp.Diff(want, got), "%s (-document +definition)", name)
	}
}

// TestDependenciesAreDefined fails if a model refers to one that is missing.
func TestDependenciesAreDefined(t *testing.T) {
	definitions := definitions(t)
	for name, definition := range definitions {
		for _, dependency := range definition.Dependencies {
			if _, ok := definitions[dependency]; !ok {
				t.Errorf("%s refers to %s, which is not defined", name, dependency)
			}
		}
	}
}

// TestV2Schema checks that what differs in documents of OpenAPI v2 has the type that the
// library looks for: it ignores other ones.
func TestV2Schema(t *testing.T) {
	const name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
	v2, ok := definitions(t)[name].Schema.Extensions[common.ExtensionV2Schema].(spec.Schema)
	if !ok || !v2.Type.Contains("string") {
		t.Errorf("the OpenAPI v2 schema of IntOrString is %v, want a string", v2)
	}
}

func definitions(t *testing.T) map[string]common.OpenAPIDefinition {
	t.Helper()
	return Definitions(spec.MustCreateRef)
}
