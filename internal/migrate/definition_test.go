// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// gadgets is the definition of a kind with two served versions, a status and a number.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What it is for.
            properties:
              description: {type: string}
              name: {type: string, maxLength: 10000000}
              ratio: {type: number, minimum: 0.5}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema: *schema
`

// gadgetsWith returns the definition with texts replaced.
func gadgetsWith(t *testing.T, replaced ...string) *unstructured.Unstructured {
	t.Helper()
	var object unstructured.Unstructured
	asJSON := testkit.Must(yaml.YAMLToJSON([]byte(strings.NewReplacer(replaced...).Replace(gadgets))))(t)
	testkit.NoError(t, utiljson.Unmarshal(asJSON, &object.Object))
	return &object
}

// TestCompareDefinitions: what has an effect on stored objects has to be equal, and the error says where it is not.
func TestCompareDefinitions(t *testing.T) {
	t.Parallel()
	const schema = "spec.versions[v1].schema.openAPIV3Schema.properties.spec.properties."
	for name, c := range map[string]struct {
		replaced []string
		want     string
	}{
		"equal":           {nil, ""},
		"another number":  {[]string{"0.5", "0.50"}, ""},
		"description":     {[]string{"What it is for.", "Something else."}, ""},
		"not served":      {[]string{"served: true\n    storage: false", "served: false\n    storage: false"}, ""},
		"type":            {[]string{"description: {type: string}", "description: {type: integer}"}, schema + `description.type is string in the cluster and integer in Docket: give`},
		"field":           {[]string{"description: {type: string}", ""}, schema + `description.type is string in the cluster and absent in Docket`},
		"bound":           {[]string{"0.5", "0.25"}, schema + "ratio.minimum is 0.5 in the cluster and 0.25 in Docket"},
		"scope":           {[]string{"Namespaced", "Cluster"}, "spec.scope is"},
		"kind":            {[]string{"kind: Gadget,", "kind: Widget,"}, "spec.names.kind is"},
		"subresource":     {[]string{"subresources: {status: {}}", ""}, "spec.versions[v1].subresources.status is {} in the cluster and absent"},
		"storage version": {[]string{"storage: true", "storage: false", "storage: false", "storage: true"}, "spec.versions[v1].storage is true in the cluster and false in Docket"},
		"version":         {[]string{"v1beta1", "v1alpha1"}, "spec.versions[v1beta1]."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crd, definition := gadgetsWith(t), gadgetsWith(t, c.replaced...)
			err := compareDefinitions(crd, definition)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestLookDefined: the CRDs of the cluster say which kinds a group has, and Docket has to serve just these.
func TestLookDefined(t *testing.T) {
	t.Parallel()
	other := []string{"gadgets", "widgets", "Gadget", "Widget"}
	gadgets, widgets, elsewhere := gadgetsWith(t), gadgetsWith(t, other...), gadgetsWith(t, "example.com", "example.org")
	for name, c := range map[string]struct {
		inCluster, inDocket []*unstructured.Unstructured
		kinds               int
		want                string
	}{
		"both":              {list(gadgets, widgets, elsewhere), list(gadgets, widgets), 2, ""},
		"nothing":           {list(elsewhere), list(gadgets), 0, ""},
		"not in Docket":     {list(gadgets, widgets), list(gadgets), 0, "the server does not serve widgets.example.com"},
		"not in cluster":    {list(gadgets), list(gadgets, widgets), 0, "the cluster has no CustomResourceDefinition widgets.example.com"},
		"no such group":     {list(gadgets), nil, 0, "check that --server is Docket, and that its --custom-resources include the group"},
		"others":            {list(gadgets), list(gadgetsWith(t, "0.5", "1")), 0, "ratio.minimum"},
		"converted by hook": {list(gadgetsWith(t, "  versions:", "  conversion: {strategy: Webhook}\n  versions:")), list(gadgets), 0, "spec.conversion.strategy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := migrationOf(t, c.inCluster, c.inDocket)
			g, err := m.look(t.Context(), "example.com")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err == nil && len(g.kinds) != c.kinds {
				t.Errorf("kinds %v, want %d", g.kinds, c.kinds)
			}
			if c.kinds > 0 && strings.Join(g.services, " ") != "v1.example.com v1beta1.example.com" {
				t.Errorf("APIServices %v", g.services)
			}
		})
	}
}

func list(of ...*unstructured.Unstructured) []*unstructured.Unstructured { return of }

// migrationOf returns a migration of example.com between a cluster and a server with these definitions.
func migrationOf(t *testing.T, inCluster, inDocket []*unstructured.Unstructured) *Crds {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var response imports.DefinitionsResponse
		for _, definition := range inDocket {
			response.Definitions = append(response.Definitions, testkit.Must(definition.MarshalJSON())(t))
		}
		if r.URL.Path != imports.DefinitionsPath || inDocket == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		testkit.NoError(t, json.NewEncoder(w).Encode(response))
	}))
	t.Cleanup(server.Close)
	objects := make([]runtime.Object, 0, len(inCluster))
	for _, crd := range inCluster {
		objects = append(objects, crd)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList",
	}, objects...)
	m := testkit.Must(NewCrds(Options{
		Cluster: &rest.Config{Host: server.URL}, Docket: &rest.Config{Host: server.URL}, Out: io.Discard, Err: io.Discard,
		Groups: []string{"example.com"}, Define: defineGadget,
	}))(t)
	m.crds = newCRDs(client, testRetrier())
	return m
}

// defineGadget reads the names of a definition.
func defineGadget(definition map[string]any) (imports.Kind, error) {
	plural, _, err := unstructured.NestedString(definition, "spec", "names", "plural")
	return imports.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1"}, Resource: plural, Versions: []string{"v1", "v1beta1"},
	}, err
}
