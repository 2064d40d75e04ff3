// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/api/openapi"
	"github.com/docket-project/docket/internal/registry"
)

const definitions = "#/definitions/"

// CRDs returns a CustomResourceDefinition for each kind that Docket serves, with a
// complete schema, as the policy engines install them.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	schemas, err := schemas()
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range registry.Kinds() {
		model, ok := kind.New().(interface{ OpenAPIModelName() string })
		if !ok {
			return nil, fmt.Errorf("%s has no OpenAPI name", kind.GroupVersionKind)
		}
		schema, err := structural(schemas, model.OpenAPIModelName())
		if err != nil {
			return nil, err
		}
		crds = append(crds, crd(kind, schema))
	}
	return crds, nil
}

func crd(kind registry.Kind, schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	scope := apiextensionsv1.ClusterScoped
	if kind.Namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	group := kind.GroupVersionKind.Group
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: kind.Resource + "." + group,
			// Groups that end in k8s.io are protected; the published CRDs say this.
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: kind.Resource, Singular: kind.Singular, ShortNames: kind.ShortNames,
				Categories: kind.Categories, Kind: kind.GroupVersionKind.Kind, ListKind: kind.ListKind().Kind,
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.GroupVersionKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			}},
		},
	}
}

// schemas returns the models of the served kinds as plain JSON.
func schemas() (map[string]map[string]any, error) {
	all := map[string]map[string]any{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(definitions + path) }) {
		data, err := json.Marshal(definition.Schema)
		if err != nil {
			return nil, err
		}
		var schema map[string]any
		if err := json.Unmarshal(data, &schema); err != nil {
			return nil, err
		}
		all[name] = schema
	}
	return all, nil
}

// structural returns a schema as CRDs need it: without references, and with nothing
// about metadata.
func structural(schemas map[string]map[string]any, name string) (*apiextensionsv1.JSONSchemaProps, error) {
	schema := inlined(schemas, schemas[name])
	if properties, ok := schema["properties"].(map[string]any); ok {
		properties["metadata"] = map[string]any{"type": "object"}
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var props apiextensionsv1.JSONSchemaProps
	return &props, json.Unmarshal(data, &props)
}

func inlined(schemas map[string]map[string]any, schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return inlined(schemas, schemas[strings.TrimPrefix(ref, definitions)])
	}
	out := map[string]any{}
	for key, value := range schema {
		switch nested := value.(type) {
		case map[string]any:
			out[key] = inlinedAt(schemas, key, nested)
		default:
			out[key] = value
		}
	}
	delete(out, "default")
	return out
}

func inlinedAt(schemas map[string]map[string]any, key string, nested map[string]any) map[string]any {
	if key != "properties" {
		return inlined(schemas, nested)
	}
	properties := map[string]any{}
	for name, property := range nested {
		if schema, ok := property.(map[string]any); ok {
			properties[name] = inlined(schemas, schema)
		}
	}
	return properties
}

// InstallCRDs installs the CRDs and waits until the cluster has accepted them.
func (c *Cluster) InstallCRDs(t testing.TB) {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	client := c.Extensions(t).ApiextensionsV1().CustomResourceDefinitions()
	k := c.Kubectl(t, "default")
	for _, crd := range crds {
		if _, err := client.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install CRD %s: %v", crd.Name, err)
		}
		k.Run(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/"+crd.Name)
	}
}

// RemoveCRDs deletes the CRDs with all their objects.
func (c *Cluster) RemoveCRDs(t testing.TB) {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		c.Kubectl(t, "default").Run(t, "delete", "--ignore-not-found", "--timeout=50s", "crd", crd.Name)
	}
}

// Extensions returns a client for CRDs.
func (c *Cluster) Extensions(t testing.TB) apiextensions.Interface {
	t.Helper()
	client, err := apiextensions.NewForConfig(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
