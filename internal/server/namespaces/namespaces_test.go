// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	aggregatorv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/up"
	"github.com/docket-project/docket/internal/server/namespaces"
)

// startUp starts a whole control plane in this process, with the controller in it.
func startUp(t *testing.T) *rest.Config {
	t.Helper()
	options := testkit.Must(up.NewOptions())(t)
	options.Dir, options.Listen = filepath.Join(t.TempDir(), "up"), "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	out, ready := io.Pipe()
	go func() {
		err := options.Run(ctx, ready, io.Discard, clock.RealClock{}, time.Now())
		ended <- errors.Join(err, ready.Close())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the control plane ended with %v", err)
		}
	})
	if _, err := out.Read(make([]byte, 1)); err != nil { // What it says first is that it is ready.
		t.Fatal("the control plane did not become ready")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // Ends with the pipe.
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", filepath.Join(options.Dir, "kubeconfig")))(t)
	config.QPS = -1
	return config
}

func makeNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	testkit.Must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
}

func makeConfigMap(t *testing.T, client kubernetes.Interface, namespace, name string, finalizers ...string) {
	t.Helper()
	testkit.Must(client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, metav1.CreateOptions{}))(t)
}

func deleteNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	testkit.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
}

func waitGone(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	testkit.Eventually(t, "namespace "+name+" is gone", func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// waitSays returns when a condition of the namespace is true with the text in its message.
func waitSays(t *testing.T, client kubernetes.Interface, name string, kind corev1.NamespaceConditionType, text string) {
	t.Helper()
	testkit.Succeeds(t, fmt.Sprintf("namespace %s says %s with %q", name, kind, text), func() error {
		namespace, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, have := range namespace.Status.Conditions {
			if have.Type == kind && have.Status == corev1.ConditionTrue && strings.Contains(have.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("it says %+v", namespace.Status.Conditions)
	})
}

// TestNamespaceGoesWithItsContent: objects of the core, of custom resources and reports
// go with their namespace, those of others stay.
func TestNamespaceGoesWithItsContent(t *testing.T) {
	t.Parallel()
	config := startUp(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	objects := testkit.Must(dynamic.NewForConfig(config))(t)
	widgets := makeWidgets(t, config)
	reports := schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}
	kinds := map[schema.GroupVersionResource]string{widgets: "Widget", reports: "PolicyReport"}
	for _, namespace := range []string{"ending", "staying"} {
		makeNamespace(t, client, namespace)
		makeConfigMap(t, client, namespace, "a")
		for resource, kind := range kinds {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
			object.SetName("a")
			// A new custom resource takes a moment to be served.
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
				_, err := objects.Resource(resource).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
				return err == nil, ignoreNotFound(err)
			})
			if err != nil {
				t.Fatalf("create %s: %v", kind, err)
			}
		}
	}
	deleteNamespace(t, client, "ending")
	waitGone(t, client, "ending")
	for namespace, want := range map[string]int{"ending": 0, "staying": 1} {
		if got := testkit.Must(client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}))(t); len(got.Items) != want {
			t.Errorf("%d ConfigMaps in namespace %s, want %d", len(got.Items), namespace, want)
		}
		for resource := range kinds {
			if got := testkit.Must(objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{}))(t); len(got.Items) != want {
				t.Errorf("%d %s in namespace %s, want %d", len(got.Items), resource.Resource, namespace, want)
			}
		}
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func makeWidgets(t *testing.T, config *rest.Config) schema.GroupVersionResource {
	t.Helper()
	keep := true
	client := testkit.Must(apiextensions.NewForConfig(config))(t)
	testkit.Must(client.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
			}},
		},
	}, metav1.CreateOptions{}))(t)
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
}

// TestConditionsSayWhatHoldsANamespace: an object with a finalizer holds its namespace,
// which says so; when the finalizer is gone, so is the namespace.
func TestConditionsSayWhatHoldsANamespace(t *testing.T) {
	t.Parallel()
	client := testkit.Must(kubernetes.NewForConfig(startUp(t)))(t)
	makeNamespace(t, client, "held")
	makeConfigMap(t, client, "held", "a", "example.com/hold")
	makeConfigMap(t, client, "held", "b")
	deleteNamespace(t, client, "held")
	waitSays(t, client, "held", corev1.NamespaceFinalizersRemaining, "example.com/hold on 1")
	waitSays(t, client, "held", corev1.NamespaceContentRemaining, "1 of configmaps")
	testkit.Must(client.CoreV1().ConfigMaps("held").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
	waitGone(t, client, "held")
}

// TestUnknownGroupHoldsANamespaceButNotItsContent: while a server is away nobody knows
// what it has in a namespace, so the namespace stays; the content of others goes.
func TestUnknownGroupHoldsANamespaceButNotItsContent(t *testing.T) {
	t.Parallel()
	config := startUp(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	services := testkit.Must(aggregator.NewForConfig(config))(t).ApiregistrationV1().APIServices()
	const name = "v1.away.example.com"
	port := int32(443)
	testkit.Must(services.Create(t.Context(), &aggregatorv1.APIService{
		// Port 1 of loopback has no server anywhere.
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"docket.dev/endpoint": "https://127.0.0.1:1"}},
		Spec: aggregatorv1.APIServiceSpec{
			Group: "away.example.com", Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 15, InsecureSkipTLSVerify: true,
			Service: &aggregatorv1.ServiceReference{Namespace: "default", Name: "away", Port: &port},
		},
	}, metav1.CreateOptions{}))(t)
	testkit.Eventually(t, "discovery says that a server is away", func() bool {
		_, _, err := client.Discovery().ServerGroupsAndResources()
		return err != nil && strings.Contains(err.Error(), "away.example.com")
	})
	makeNamespace(t, client, "partly")
	makeConfigMap(t, client, "partly", "a")
	deleteNamespace(t, client, "partly")
	waitSays(t, client, "partly", corev1.NamespaceDeletionDiscoveryFailure, "away.example.com/v1")
	if got := testkit.Must(client.CoreV1().ConfigMaps("partly").List(t.Context(), metav1.ListOptions{}))(t); len(got.Items) != 0 {
		t.Errorf("%d ConfigMaps are still there", len(got.Items))
	}
	testkit.NoError(t, services.Delete(t.Context(), name, metav1.DeleteOptions{}))
	waitGone(t, client, "partly")
}

// TestSweepOrder: objects that were listed before the check of the namespace are deleted, later objects
// of the same name are not, a resource that nobody serves has no objects, and a namespace that
// has not ended loses nothing.
func TestSweepOrder(t *testing.T) {
	t.Parallel()
	config := startUp(t)
	client := testkit.Must(kubernetes.NewForConfig(config))(t)
	objects := testkit.Must(metadata.NewForConfig(config))(t)
	makeNamespace(t, client, "mixed")
	for _, name := range []string{"a", "b"} {
		makeConfigMap(t, client, "mixed", name)
	}
	sweep := func(ended func(context.Context) (namespaces.Belongs, error)) int {
		return testkit.Must(namespaces.Sweep(t.Context(), objects, "mixed", []schema.GroupVersionResource{
			{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Group: "nowhere.example.com", Version: "v1", Resource: "things"},
		}, ended))(t)
	}
	if swept := sweep(func(context.Context) (namespaces.Belongs, error) { return nil, nil }); swept != 0 {
		t.Errorf("%d objects of a namespace that has not ended were deleted", swept)
	}
	swept := sweep(func(ctx context.Context) (namespaces.Belongs, error) {
		err := client.CoreV1().ConfigMaps("mixed").Delete(ctx, "b", metav1.DeleteOptions{})
		makeConfigMap(t, client, "mixed", "b")
		makeConfigMap(t, client, "mixed", "c")
		return namespaces.All, err
	})
	if swept != 1 {
		t.Errorf("%d objects were deleted, want 1", swept)
	}
	var left []string
	for _, object := range testkit.Must(client.CoreV1().ConfigMaps("mixed").List(t.Context(), metav1.ListOptions{}))(t).Items {
		left = append(left, object.Name)
	}
	if got := strings.Join(left, " "); got != "b c" {
		t.Errorf("what is left: %s, want b c", got)
	}
}

// TestSystemNamespacesAreThere: those of the system are made at start, and making them
// again changes nothing.
func TestSystemNamespacesAreThere(t *testing.T) {
	t.Parallel()
	client := testkit.Must(kubernetes.NewForConfig(startUp(t)))(t)
	before := testkit.Must(client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}))(t)
	testkit.NoError(t, namespaces.EnsureSystem(t.Context(), client))
	after := testkit.Must(client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}))(t)
	var names []string
	for i, namespace := range after.Items {
		names = append(names, namespace.Name)
		if i >= len(before.Items) || before.Items[i].ResourceVersion != namespace.ResourceVersion {
			t.Errorf("namespace %s was changed", namespace.Name)
		}
	}
	if got := strings.Join(names, " "); got != "default kube-public kube-system" {
		t.Errorf("the namespaces are %s", got)
	}
}
