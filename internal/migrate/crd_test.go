// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// crdWith returns a CRD of policyreports with the given versions: name to served.
func crdWith(t *testing.T, versions ...any) (imports.Kind, *unstructured.Unstructured) {
	t.Helper()
	kind := apiserver.Movable(testkit.Must(registry.KindOf(schema.GroupResource{Group: "wgpolicyk8s.io", Resource: "policyreports"}))(t))
	return kind, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": crdName(kind)},
		"spec":     map[string]any{"versions": versions, "conversion": map[string]any{"strategy": "None"}},
	}}
}

func version(name string, served bool) map[string]any {
	return map[string]any{"name": name, "served": served, "storage": name == "v1alpha2"}
}

func TestCheckCRD(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		versions []any
		strategy string
		want     string
	}{
		"usual":             {[]any{version("v1alpha2", true)}, "None", ""},
		"after a migration": {[]any{version("v1alpha2", false)}, "", ""},
		"under way":         {[]any{version("v1alpha2", true), version("migration", true)}, "None", ""},
		"other, not served": {[]any{version("v1alpha2", true), version("v1alpha1", false)}, "None", ""},
		"other, served":     {[]any{version("v1alpha2", true), version("v1beta1", true)}, "None", "also serves v1beta1"},
		"not ours":          {[]any{version("v1beta1", true)}, "None", "has no version v1alpha2"},
		"webhook":           {[]any{version("v1alpha2", true)}, "Webhook", "spec.conversion.strategy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, crd := crdWith(t, c.versions...)
			testkit.NoError(t, unstructured.SetNestedField(crd.Object, c.strategy, "spec", "conversion", "strategy"))
			err := checkCRD(kind, crd)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestCRDChanges: what is added goes again, and the rest is as it was: operators find the versions that they look for.
func TestCRDChanges(t *testing.T) {
	t.Parallel()
	kind, crd := crdWith(t, version("v1alpha2", true))
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList",
	}, crd)
	changes := newCRDs(client, testRetrier())
	ctx, kinds := t.Context(), []imports.Kind{kind}
	for range 2 { // The second time changes nothing.
		testkit.NoError(t, changes.addVersions(ctx, kinds))
		testkit.NoError(t, changes.setServed(ctx, kinds, false))
	}
	now := testkit.Must(changes.client.Get(ctx, crdName(kind), metav1.GetOptions{}))(t)
	versions, err := versionsOf(now)
	if err != nil || len(versions) != 2 || versions[0]["served"] != false || !hasVersion(now) || now.GetAnnotations()[crdAnnotation] == "" {
		t.Errorf("changed to %v, %v", now.Object, err)
	}
	testkit.NoError(t, changes.restore(ctx, kinds))
	now = testkit.Must(changes.client.Get(ctx, crdName(kind), metav1.GetOptions{}))(t)
	if diff := cmp.Diff(crd.Object["spec"], now.Object["spec"]); diff != "" || len(now.GetAnnotations()) > 0 {
		t.Errorf("not as before: %v (-before +after)\n%s", now.GetAnnotations(), diff)
	}
}

func TestReadAPIServices(t *testing.T) {
	t.Parallel()
	services, err := ReadAPIServices([]byte(`
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: docket}}
- {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1alpha2.wgpolicyk8s.io}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.reports.kyverno.io}
`))
	if err != nil || len(services) != 2 {
		t.Fatalf("%v, %v", services, err)
	}
	if named(services, "v1alpha2.wgpolicyk8s.io") == nil || named(services, "v1.reports.kyverno.io") == nil || named(services, "v1alpha1.openreports.io") != nil {
		t.Errorf("found %v", services)
	}
	if _, err := ReadAPIServices([]byte("a: [")); err == nil {
		t.Error("broken YAML was read")
	}
}

// TestServingOf: the condition that an APIService had as the cluster's own does not
// count for the extension server that it points to now.
func TestServingOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service              any
		status, reason       string
		extension, available bool
	}{
		"the cluster's own": {nil, "True", "Local", false, true},
		"just switched":     {map[string]any{"name": "docket"}, "True", "Local", true, false},
		"available":         {map[string]any{"name": "docket"}, "True", "Passed", true, true},
		"not available":     {map[string]any{"name": "docket"}, "False", "FailedDiscoveryCheck", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := map[string]any{}
			if c.service != nil {
				spec["service"] = c.service
			}
			got := servingOf(&unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": map[string]any{
				"conditions": []any{map[string]any{"type": "Available", "status": c.status, "reason": c.reason, "message": "m"}},
			}}})
			if got.extension != c.extension || got.available != c.available {
				t.Errorf("%+v", got)
			}
		})
	}
}
