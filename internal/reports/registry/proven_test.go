// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/definition"
)

// TestProven: objects of a definition with a default for its status have it when they are read, and not in what is
// stored when they are created.
func TestProven(t *testing.T) {
	t.Parallel()
	for name, defaults := range map[string]string{"none": "", "status": `{"seen":-1}`} {
		status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"seen": {Type: "integer"}}}
		if defaults != "" {
			status.Default = &apiextensionsv1.JSON{Raw: []byte(defaults)}
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name = "things.example.com"
		crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", Plural: "things"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": status},
				}},
			}},
		}
		testkit.NoError(t, definition.Check(crd))
		definition.SetProven(crd)
		kinds := testkit.Must(FromDefinition(crd))(t)
		if got, want := kinds[0].document.Proven, defaults == ""; got != want {
			t.Errorf("a default for %s: proven %t, want %t", name, got, want)
		}
	}
}
