// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// server is the good one of all tests: a `docket up` with kinds of our own.
var server uptest.Server // Shared by the tests of the package.

// TestMain lets more tests run at a time than there are processors: they mostly wait for watches.
func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("8"); err != nil {
			panic(err)
		}
	}
	os.Exit(uptest.Run(m, &server))
}

// examples is the group version of widgets (status, scale, two versions) and gadgets (neither).
var examples = schema.GroupVersion{Group: "conformance.example.com", Version: "v1"}

func good(t *testing.T) *rest.Config {
	t.Helper()
	return testkit.Must(server.Config(installExamples))(t)
}

func installExamples(ctx context.Context, config *rest.Config) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{widgets(), gadgets()} {
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := makeReports(ctx, config); err != nil {
		return err
	}
	found := clientdiscovery.NewDiscoveryClientForConfigOrDie(config)
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		for _, version := range []string{"v1", "v1beta1"} {
			list, err := found.ServerResourcesForGroupVersion(examples.Group + "/" + version)
			if err != nil || version == "v1" && len(list.APIResources) < 4 {
				return false, nil //nolint:nilerr // Not yet.
			}
		}
		return true, nil
	})
}

// shownNamespace comes before those of runs, so that checks of results look here, where nobody changes anything.
const shownNamespace = "a-shown"

// makeReports makes reports with results, which are shown as objects that clients don't create.
func makeReports(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": shownNamespace}}}
	if _, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	var results []any
	for i := range 7 {
		results = append(results, map[string]any{
			"source": "a-source", "policy": fmt.Sprintf("policy-%d", i), "rule": "r", "result": "fail", "severity": "high",
			"resources": []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "default"}},
		})
	}
	group := schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"}
	report := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group.String(), "metadata": map[string]any{"name": "a-shown"}, "results": results}}
	report.SetKind("PolicyReport")
	if _, err := client.Resource(group.WithResource("policyreports")).Namespace(shownNamespace).Create(ctx, report, metav1.CreateOptions{}); err != nil {
		return err
	}
	report.SetKind("ClusterPolicyReport")
	_, err = client.Resource(group.WithResource("clusterpolicyreports")).Create(ctx, report, metav1.CreateOptions{})
	return err
}

func widgets() *apiextensionsv1.CustomResourceDefinition {
	text, number := apiextensionsv1.JSONSchemaProps{Type: "string", Description: "A text."}, apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32", Description: "A number."}
	selector := ".status.selector"
	list := "map"
	condition := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"type", "status", "lastTransitionTime", "reason", "message"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"type": text, "status": text, "reason": text, "message": text, "observedGeneration": {Type: "integer", Format: "int64", Description: "A generation."},
			"lastTransitionTime": {Type: "string", Format: "date-time", Description: "A time."},
		},
	}
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "Widget is a kind for tests.", Required: []string{"spec"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {
				Type: "object", Description: "What is wanted.", Required: []string{"color", "replicas"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"color": text, "replicas": number, "note": text, "size": number,
					"tags": {Type: "array", Description: "Texts.", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}},
				},
			},
			"status": {
				Type: "object", Description: "What there is.",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"replicas": number, "selector": text,
					"conditions": {
						Type: "array", Description: "Conditions.", XListType: &list, XListMapKeys: []string{"type"},
						Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
					},
				},
			},
		},
	}}
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage, Schema: schema,
			AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Color", Type: "string", JSONPath: ".spec.color"}},
			SelectableFields:         []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}},
			Subresources: &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: &selector},
			},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + examples.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: examples.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", ShortNames: []string{"wd"}, Categories: []string{"examples"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v1beta1", false)},
		},
	}
}

// widget is one that the server accepts.
func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": examples.String(), "kind": "Widget", "spec": map[string]any{"color": "red", "replicas": int64(1)},
	}}
}

// gadgets have no namespaces, no subresources, and a schema without fields.
func gadgets() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + examples.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: examples.Group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Description: "Gadget is a kind for tests.", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
}

// options returns the options of a run on the good server.
func options(t *testing.T, gv schema.GroupVersion, resources ...string) runner.Options {
	t.Helper()
	return runner.Options{
		Config: good(t), GroupVersion: gv, Resources: resources, Checks: All(), UserAgent: "docket-conformance-test",
		Timeout: 4 * time.Minute, // The machine may be busy with other tests.
	}
}
