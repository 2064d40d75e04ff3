// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestNamespaces(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	for name, test := range map[string]func(*testing.T, *testServer, typedcore.NamespaceInterface){
		"create":        testNamespaceCreate,
		"life":          testNamespaceLife,
		"finalizers":    testNamespaceFinalizers,
		"permanent":     testPermanentNamespaces,
		"preconditions": testNamespacePreconditions,
		"dry-run":       testNamespaceDryRun,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server, server.client.CoreV1().Namespaces())
		})
	}
}

func createNamespace(t *testing.T, namespaces typedcore.NamespaceInterface, object *corev1.Namespace) *corev1.Namespace {
	t.Helper()
	return testkit.Must(namespaces.Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

func testNamespaceCreate(t *testing.T, _ *testServer, namespaces typedcore.NamespaceInterface) {
	namespace := createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: named("new")})
	if len(namespace.Spec.Finalizers) != 1 || namespace.Spec.Finalizers[0] != corev1.FinalizerKubernetes ||
		namespace.Status.Phase != corev1.NamespaceActive || namespace.Labels[corev1.LabelMetadataName] != "new" {
		t.Errorf("a new namespace is %v", namespace)
	}
	namespace.Labels = map[string]string{"a": "b"}
	namespace.Spec.Finalizers = nil
	namespace.Status.Phase = corev1.NamespaceTerminating
	namespace = testkit.Must(namespaces.Update(t.Context(), namespace, metav1.UpdateOptions{}))(t)
	if len(namespace.Spec.Finalizers) != 1 || namespace.Status.Phase != corev1.NamespaceActive || namespace.Labels[corev1.LabelMetadataName] != "new" {
		t.Errorf("an update changed what it can't: %v", namespace)
	}
	generated := createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}})
	if generated.Labels[corev1.LabelMetadataName] != generated.Name {
		t.Errorf("the label of a generated name: %v", generated.ObjectMeta)
	}
	applied, err := namespaces.Apply(t.Context(), coreapply.Namespace("applied").WithLabels(map[string]string{"a": "b"}), metav1.ApplyOptions{FieldManager: "test"})
	if err != nil || applied.Labels[corev1.LabelMetadataName] != "applied" || applied.Status.Phase != corev1.NamespaceActive {
		t.Errorf("an applied namespace is %v, %v", applied, err)
	}
}

// testNamespaceLife: marked by the first DELETE, kept by more of them, gone when the
// last finalizer is. Watchers see each step.
func testNamespaceLife(t *testing.T, _ *testServer, namespaces typedcore.NamespaceInterface) {
	namespace := createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: named("life")})
	watched, err := namespaces.Watch(t.Context(), metav1.ListOptions{ResourceVersion: namespace.ResourceVersion, FieldSelector: "metadata.name=life"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for range 2 {
		testkit.NoError(t, namespaces.Delete(t.Context(), "life", metav1.DeleteOptions{}))
		namespace = testkit.Must(namespaces.Get(t.Context(), "life", metav1.GetOptions{}))(t)
		if namespace.DeletionTimestamp.IsZero() || namespace.Status.Phase != corev1.NamespaceTerminating {
			t.Errorf("a deleted namespace is %v", namespace)
		}
	}
	terminating, err := namespaces.List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Terminating,metadata.name=life"})
	if err != nil || len(terminating.Items) != 1 {
		t.Errorf("terminating namespaces: %v, %v", terminating, err)
	}
	// The status can change meanwhile, and other finalizers come and go.
	namespace.Status.Conditions = []corev1.NamespaceCondition{{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue}}
	if namespace, err = namespaces.UpdateStatus(t.Context(), namespace, metav1.UpdateOptions{}); err != nil || len(namespace.Status.Conditions) != 1 {
		t.Fatalf("status: %v, %v", namespace, err)
	}
	namespace.Spec.Finalizers = nil
	testkit.Must(namespaces.Finalize(t.Context(), namespace, metav1.UpdateOptions{}))(t)
	if _, err := namespaces.Get(t.Context(), "life", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: %v", err)
	}
	for _, want := range []watch.EventType{watch.Modified, watch.Modified, watch.Deleted} {
		if event := <-watched.ResultChan(); event.Type != want {
			t.Errorf("a watcher saw %s %v, want %s", event.Type, event.Object, want)
		}
	}
}

// testNamespaceFinalizers: those of the metadata keep a namespace, too.
func testNamespaceFinalizers(t *testing.T, _ *testServer, namespaces typedcore.NamespaceInterface) {
	meta := metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/mine"}}
	namespace := createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: meta})
	namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, "example.com/other")
	namespace, err := namespaces.Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	if err != nil || len(namespace.Spec.Finalizers) != 2 || namespace.Status.Phase != corev1.NamespaceActive {
		t.Fatalf("after adding a finalizer: %v, %v", namespace, err)
	}
	testkit.NoError(t, namespaces.Delete(t.Context(), "kept", metav1.DeleteOptions{}))
	namespace = testkit.Must(namespaces.Get(t.Context(), "kept", metav1.GetOptions{}))(t)
	namespace.Spec.Finalizers = nil
	testkit.Must(namespaces.Finalize(t.Context(), namespace, metav1.UpdateOptions{}))(t)
	_ = testkit.Must(namespaces.Get(t.Context(), "kept", metav1.GetOptions{}))(t)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	testkit.Must(namespaces.Patch(t.Context(), "kept", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	if _, err := namespaces.Get(t.Context(), "kept", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: %v", err)
	}
}

func testPermanentNamespaces(t *testing.T, server *testServer, namespaces typedcore.NamespaceInterface) {
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: named(name)})
		if err := namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("deleting %s: %v", name, err)
		}
	}
	if code, _, _ := server.request(t, "DELETE", "/api/v1/namespaces", ""); code != 405 {
		t.Errorf("deleting all namespaces: %d", code)
	}
	if err := namespaces.Delete(t.Context(), "missing", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleting a missing namespace: %v", err)
	}
}

func testNamespacePreconditions(t *testing.T, _ *testServer, namespaces typedcore.NamespaceInterface) {
	createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: named("other")})
	other := types.UID("other")
	err := namespaces.Delete(t.Context(), "other", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	if !apierrors.IsConflict(err) {
		t.Errorf("deleting a namespace with another uid: %v", err)
	}
	stillActive(t.Context(), t, namespaces, "other")
}

func testNamespaceDryRun(t *testing.T, _ *testServer, namespaces typedcore.NamespaceInterface) {
	createNamespace(t, namespaces, &corev1.Namespace{ObjectMeta: named("dry")})
	testkit.NoError(t, namespaces.Delete(t.Context(), "dry", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	stillActive(t.Context(), t, namespaces, "dry")
}

func stillActive(ctx context.Context, t *testing.T, namespaces typedcore.NamespaceInterface, name string) {
	t.Helper()
	namespace, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !namespace.DeletionTimestamp.IsZero() || namespace.Status.Phase != corev1.NamespaceActive {
		t.Errorf("namespace %s is %v, %v", name, namespace, err)
	}
}
