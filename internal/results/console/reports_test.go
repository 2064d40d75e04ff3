// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// What writers of reports can put into them.
const (
	markup   = `<img src=x onerror="window.hacked='image'"><script>window.hacked='script'</script>`
	reversed = "ab\u202edc"
	quotes   = `it's "a\b", c=d`
)

// many is the number of results of the policy "many", more than a page of them has.
const many = 130

type result = map[string]any

// writeReports fills the server: namespaces shop, with results of all kinds, and quiet, with none.
func writeReports(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range []string{"shop", "quiet"} {
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
		if _, err := namespaces.Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	pages := make([]any, many)
	for i := range pages {
		severity := []string{"low", "critical"}[i%2]
		pages[i] = result{"policy": "many", "rule": fmt.Sprintf("rule-%03d", i), "result": "fail", "severity": severity, "source": "engine", "message": "one of many"}
	}
	about := func(kind, name string) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": name, "namespace": "shop"}
	}
	for name, report := range map[string]struct {
		scope   map[string]any
		results []any
	}{
		"web": {about("Deployment", "web"), []any{
			result{"policy": "no-root", "rule": "check", "result": "fail", "severity": "high", "source": "engine", "message": "runs as root", "category": "Pods"},
			result{"policy": "no-root", "rule": "other", "result": "pass", "severity": "high", "source": "engine", "message": "fine"},
			result{"policy": "scan", "result": "warn", "source": "scanner", "message": "old image"},
		}},
		"many": {about("Pod", "busy"), pages},
		"hostile": {about("Pod", "hostile"), []any{
			result{
				"policy": markup, "rule": reversed, "result": "error", "severity": "medium", "source": markup, "category": markup,
				"message": markup + strings.Repeat(" long", 20_000), "properties": map[string]any{markup: markup},
			},
			result{"policy": quotes, "result": "error", "severity": "medium", "source": "engine", "message": reversed},
		}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": name}, "scope": report.scope, "results": report.results,
		}}
		if _, err := client.Resource(reportsResource("policyreports")).Namespace("shop").Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "ClusterPolicyReport", "metadata": map[string]any{"name": "nodes"},
		"results": []any{result{"policy": "node-check", "result": "fail", "severity": "critical", "source": "engine", "message": "old kernel",
			"resources": []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": "node-1"}}}},
	}}
	if _, err = client.Resource(reportsResource("clusterpolicyreports")).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	return writeScan(ctx, client)
}

// writeScan defines a kind of objects that are no reports, and creates one.
func writeScan(ctx context.Context, client dynamic.Interface) error {
	kind := mappedKinds()[0]
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": kind.GroupResource().String()},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced", "names": map[string]any{"kind": kind.Kind, "plural": kind.Resource},
			"versions": []any{map[string]any{"name": kind.Version, "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	scan := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": map[string]any{"name": "web"},
		"report": map[string]any{"vulnerabilities": []any{map[string]any{"vulnerabilityID": "CVE-2026-0001"}}},
	}}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(kind.GroupVersion().WithResource(kind.Resource)).Namespace("shop").Create(ctx, scan, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil // Not served yet.
		}
		return true, err
	})
}

func reportsResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: plural}
}
