// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

var (
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	spaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

	clusterPolicies    = schema.GroupVersionResource{Group: "kyverno.io", Version: "v1", Resource: "clusterpolicies"}
	namespacedPolicies = schema.GroupVersionResource{Group: "kyverno.io", Version: "v1", Resource: "policies"}
	exceptions         = schema.GroupVersionResource{Group: "kyverno.io", Version: "v1", Resource: "policyexceptions"}
)

// world is a control plane with the kinds of policies.
type world struct {
	config *rest.Config
	client dynamic.Interface
}

// shared is the one control plane of all tests: each has its own scanner, and policies and
// namespaces of its own names.
var shared = &uptest.Server{}

func TestMain(m *testing.M) {
	scan.Register()
	os.Exit(uptest.Run(m, shared))
}

// newWorld returns the control plane.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	config := testkit.Must(shared.Config(defineKinds))(tb)
	client := testkit.Must(dynamic.NewForConfig(config))(tb)
	return &world{config: config, client: client}
}

// defineKinds makes the kinds of policies.
func defineKinds(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	w := &world{config: config, client: client}
	for _, gvr := range []schema.GroupVersionResource{clusterPolicies, namespacedPolicies, exceptions} {
		if err := w.define(ctx, gvr); err != nil {
			return err
		}
	}
	for _, gvr := range []schema.GroupVersionResource{clusterPolicies, namespacedPolicies, exceptions} {
		if err := w.awaitKind(ctx, gvr); err != nil {
			return err
		}
	}
	return nil
}

// kindNames are the kinds of test definitions; those that are cluster-scoped begin with Cluster
// or Validating.
var kindNames = map[string]string{
	"clusterpolicies": "ClusterPolicy", "policies": "Policy", "policyexceptions": "PolicyException",
	"validatingpolicies": "ValidatingPolicy", "namespacedvalidatingpolicies": "NamespacedValidatingPolicy", "widgets": "Widget",
}

// define adds a kind, after one of the same name has gone.
func (w *world) define(ctx context.Context, gvr schema.GroupVersionResource) error {
	kind, scope := kindNames[gvr.Resource], "Namespaced"
	if strings.HasPrefix(kind, "Cluster") || strings.HasPrefix(kind, "Validating") {
		scope = "Cluster"
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": gvr.GroupResource().String()},
		"spec": map[string]any{
			"group": gvr.Group, "scope": scope,
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": gvr.Resource, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": gvr.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": open},
			}},
		},
	}}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := w.client.Resource(crds).Create(ctx, definition, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// awaitKind returns when a kind is served.
func (w *world) awaitKind(ctx context.Context, gvr schema.GroupVersionResource) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := w.client.Resource(gvr).List(ctx, metav1.ListOptions{})
		return err == nil, nil // Not yet.
	})
}

func (w *world) at(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.client.Resource(gvr)
	}
	return w.client.Resource(gvr).Namespace(namespace)
}

func (w *world) create(tb testing.TB, gvr schema.GroupVersionResource, object *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	return testkit.Must(w.at(gvr, object.GetNamespace()).Create(tb.Context(), object, metav1.CreateOptions{}))(tb)
}

// update changes an object.
func (w *world) update(tb testing.TB, gvr schema.GroupVersionResource, namespace, name string, change func(*unstructured.Unstructured)) {
	tb.Helper()
	object := testkit.Must(w.at(gvr, namespace).Get(tb.Context(), name, metav1.GetOptions{}))(tb)
	change(object)
	testkit.Must(w.at(gvr, namespace).Update(tb.Context(), object, metav1.UpdateOptions{}))(tb)
}

func (w *world) remove(tb testing.TB, gvr schema.GroupVersionResource, namespace, name string) {
	tb.Helper()
	testkit.NoError(tb, w.at(gvr, namespace).Delete(tb.Context(), name, metav1.DeleteOptions{}))
}

// policy writes a cluster policy, which is deleted when the test ends, if not before.
func (w *world) policy(tb testing.TB, name string, s spec) {
	tb.Helper()
	w.create(tb, clusterPolicies, policyObject(tb, name, s))
	tb.Cleanup(func() {
		err := w.client.Resource(clusterPolicies).Delete(context.WithoutCancel(tb.Context()), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			tb.Error(err)
		}
	})
}

// change replaces what a cluster policy says.
func (w *world) change(tb testing.TB, name string, s spec) {
	tb.Helper()
	w.update(tb, clusterPolicies, "", name, func(object *unstructured.Unstructured) {
		object.Object["spec"] = policyObject(tb, name, s).Object["spec"]
	})
}

func (w *world) namespace(tb testing.TB, name string, labels ...string) {
	tb.Helper()
	w.create(tb, spaces, object("v1", "Namespace", "", name, labels...))
}

func (w *world) configMap(tb testing.TB, namespace, name string, labels ...string) {
	tb.Helper()
	w.create(tb, configMaps, object("v1", "ConfigMap", namespace, name, labels...))
}

func (w *world) pod(tb testing.TB, namespace, name string, labels ...string) {
	tb.Helper()
	w.create(tb, pods, podObject(namespace, name, labels...))
}

func podObject(namespace, name string, labels ...string) *unstructured.Unstructured {
	pod := object("v1", "Pod", namespace, name, labels...)
	pod.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.example/app:1"}}}
	return pod
}

func object(apiVersion, kind, namespace, name string, labels ...string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}}
	o.SetNamespace(namespace)
	setLabels(o, labels...)
	return o
}

// setLabels sets the labels with these names.
func setLabels(o *unstructured.Unstructured, names ...string) {
	labels := o.GetLabels()
	if labels == nil && len(names) > 0 {
		labels = map[string]string{}
	}
	for _, name := range names {
		labels[name] = "yes"
	}
	o.SetLabels(labels)
}

// targets returns those of kinds of any group.
func targets(kinds ...string) []policy.Target {
	list := make([]policy.Target, 0, len(kinds))
	for _, kind := range kinds {
		list = append(list, policy.Target{Group: "*", Version: "*", Kind: kind})
	}
	return list
}

// asking is the rule "has-…" for a label.
func asking(labels ...string) []rule {
	rules := make([]rule, 0, len(labels))
	for _, label := range labels {
		rules = append(rules, rule{Name: "has-" + label, Label: label})
	}
	return rules
}

func clusterPolicy(name string) policy.Identity {
	return policy.Identity{Kind: policy.ClusterPolicy, Name: name}
}

func numbered(prefix string, count int) []string {
	names := make([]string, 0, count)
	for i := range count {
		names = append(names, fmt.Sprintf("%s%03d", prefix, i))
	}
	return names
}
