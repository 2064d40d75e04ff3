// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// newDeployment returns a deployment as somebody would write it.
func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: named(name),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

// TestObjects asks one server as clients do; each subtest has its own namespace.
func TestObjects(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	for name, test := range map[string]func(*testing.T, *testServer, string){
		"crud":             testCRUD,
		"generation":       testGeneration,
		"status":           testStatus,
		"status-apply":     testStatusApply,
		"apply":            testApply,
		"strategic-merge":  testStrategicMerge,
		"watch":            testWatch,
		"field-selectors":  testFieldSelectors,
		"create-on-update": testCreateOnUpdate,
		"names":            testNames,
		"warnings":         testWarnings,
		"every-kind":       testEveryKind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server, name)
		})
	}
}

func testCRUD(t *testing.T, server *testServer, namespace string) {
	for i, mediaType := range []string{protobuf, jsonType} {
		maps := server.speaking(t, mediaType).CoreV1().ConfigMaps(namespace)
		name := fmt.Sprintf("map-%d", i)
		created, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", mediaType, err)
		}
		if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() {
			t.Errorf("%s: metadata is not set: %v", mediaType, created.ObjectMeta)
		}
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s: a second create: %v", mediaType, err)
		}
		stale := created.DeepCopy()
		created.Data["b"] = "2"
		if created, err = maps.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", mediaType, err)
		}
		stale.Data["c"] = "3"
		if _, err := maps.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("%s: an update of an old version: %v", mediaType, err)
		}
		got := testkit.Must(maps.Get(t.Context(), name, metav1.GetOptions{}))(t)
		testkit.NoDiff(t, cmp.Diff(created, got), "%s (-updated +got)", mediaType)
		testkit.NoError(t, maps.Delete(t.Context(), name, metav1.DeleteOptions{}))
		if _, err := maps.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: after the delete: %v", mediaType, err)
		}
	}
}

func testGeneration(t *testing.T, server *testServer, namespace string) {
	deployments := server.client.AppsV1().Deployments(namespace)
	wanted := newDeployment("d")
	wanted.Generation = 7
	d, err := deployments.Create(t.Context(), wanted, metav1.CreateOptions{})
	if err != nil || d.Generation != 1 {
		t.Fatalf("generation of a new deployment is %d, %v", d.Generation, err)
	}
	if d.Spec.Replicas == nil || *d.Spec.Replicas != 1 {
		t.Errorf("defaults are missing: %v", d.Spec)
	}
	for _, step := range []struct {
		change func()
		want   int64
	}{
		{func() { d.Labels = map[string]string{"a": "b"} }, 1},
		// An omitted field gets the default again: nothing changes.
		{func() { d.Spec.Replicas = nil }, 1},
		{func() { *d.Spec.Replicas = 3 }, 2},
		{func() { d.Generation = 9 }, 2},
	} {
		step.change()
		if d, err = deployments.Update(t.Context(), d, metav1.UpdateOptions{}); err != nil || d.Generation != step.want {
			t.Fatalf("generation is %d, want %d: %v", d.Generation, step.want, err)
		}
	}
	d.Spec.Selector.MatchLabels["app"] = "other"
	d.Spec.Template.Labels["app"] = "other"
	if _, err := deployments.Update(t.Context(), d, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the selector changed: %v", err)
	}
}

func testStatus(t *testing.T, server *testServer, namespace string) {
	deployments := server.client.AppsV1().Deployments(namespace)
	wanted := newDeployment("d")
	wanted.Status.ReadyReplicas = 5
	d, err := deployments.Create(t.Context(), wanted, metav1.CreateOptions{})
	if err != nil || d.Status.ReadyReplicas != 0 {
		t.Fatalf("a new deployment has a status: %v, %v", d.Status, err)
	}
	d.Status.ReadyReplicas, *d.Spec.Replicas, d.Labels = 2, 9, map[string]string{"a": "b"}
	d = testkit.Must(deployments.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}))(t)
	if d.Status.ReadyReplicas != 2 || *d.Spec.Replicas != 1 || len(d.Labels) != 0 || d.Generation != 1 {
		t.Errorf("after an update of the status: %v, %v, %v", d.ObjectMeta, *d.Spec.Replicas, d.Status)
	}
	d.Status.ReadyReplicas, *d.Spec.Replicas = 7, 4
	d = testkit.Must(deployments.Update(t.Context(), d, metav1.UpdateOptions{}))(t)
	if d.Status.ReadyReplicas != 2 || *d.Spec.Replicas != 4 {
		t.Errorf("after an update: %v, %v", *d.Spec.Replicas, d.Status)
	}
	missing := newDeployment("missing")
	missing.ResourceVersion = d.ResourceVersion
	if _, err := deployments.UpdateStatus(t.Context(), missing, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the status of nothing: %v", err)
	}
}

// testStatusApply: who applies an object with a status doesn't own the status.
func testStatusApply(t *testing.T, server *testServer, namespace string) {
	deployments := server.client.AppsV1().Deployments(namespace)
	testkit.Must(deployments.Create(t.Context(), newDeployment("d"), metav1.CreateOptions{}))(t)
	force := metav1.ApplyOptions{FieldManager: "person", Force: true}
	d, err := deployments.Apply(t.Context(), appsapply.Deployment("d", namespace).
		WithSpec(appsapply.DeploymentSpec().WithReplicas(2)).
		WithStatus(appsapply.DeploymentStatus().WithReadyReplicas(4)), force)
	if err != nil || d.Status.ReadyReplicas != 0 || *d.Spec.Replicas != 2 {
		t.Fatalf("after an apply: %v, %v", d, err)
	}
	controller := metav1.ApplyOptions{FieldManager: "controller"}
	d, err = deployments.ApplyStatus(t.Context(), appsapply.Deployment("d", namespace).
		WithSpec(appsapply.DeploymentSpec().WithReplicas(8)).
		WithStatus(appsapply.DeploymentStatus().WithReadyReplicas(1)), controller)
	if err != nil || d.Status.ReadyReplicas != 1 || *d.Spec.Replicas != 2 {
		t.Fatalf("after an apply of the status: %v, %v", d, err)
	}
}

// testApply: containers are a map by name, ports one by number and protocol.
func testApply(t *testing.T, server *testServer, namespace string) {
	deployments := server.client.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "d"}
	with := func(containers ...*coreapply.ContainerApplyConfiguration) *appsapply.DeploymentApplyConfiguration {
		return appsapply.Deployment("d", namespace).WithSpec(appsapply.DeploymentSpec().
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).
				WithSpec(coreapply.PodSpec().WithContainers(containers...))))
	}
	apply := func(manager string, what *appsapply.DeploymentApplyConfiguration) (*appsv1.Deployment, error) {
		return deployments.Apply(t.Context(), what, metav1.ApplyOptions{FieldManager: manager})
	}
	first := testkit.Must(apply("a", with(coreapply.Container().WithName("one").WithImage("1").WithPorts(coreapply.ContainerPort().WithContainerPort(80)))))(t)
	again, err := apply("a", with(coreapply.Container().WithName("one").WithImage("1").WithPorts(coreapply.ContainerPort().WithContainerPort(80))))
	if err != nil || again.ResourceVersion != first.ResourceVersion {
		t.Errorf("applying the same again: version %s, was %s: %v", again.ResourceVersion, first.ResourceVersion, err)
	}
	both := testkit.Must(apply("b", with(coreapply.Container().WithName("two").WithImage("2"))))(t)
	var got []string
	for _, container := range both.Spec.Template.Spec.Containers {
		got = append(got, container.Name+"="+container.Image)
	}
	testkit.NoDiff(t, cmp.Diff([]string{"one=1", "two=2"}, got), "containers of two managers (-want +got)")
	if _, err := apply("b", with(coreapply.Container().WithName("one").WithImage("3"))); !apierrors.IsConflict(err) {
		t.Errorf("the image of another manager: %v", err)
	}
}

// testStrategicMerge: what kubectl apply sends without --server-side.
func testStrategicMerge(t *testing.T, server *testServer, namespace string) {
	deployments := server.client.AppsV1().Deployments(namespace)
	testkit.Must(deployments.Create(t.Context(), newDeployment("d"), metav1.CreateOptions{}))(t)
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new"},{"name":"x","image":"y"}]}}}}`)
	d, err := deployments.Patch(t.Context(), "d", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil || len(d.Spec.Template.Spec.Containers) != 2 || d.Generation != 2 {
		t.Errorf("after a patch: %v, %v", d.Spec.Template.Spec.Containers, err)
	}
}

func testWatch(t *testing.T, server *testServer, namespace string) {
	for i, mediaType := range []string{protobuf, jsonType} {
		maps := server.speaking(t, mediaType).CoreV1().ConfigMaps(namespace)
		list := testkit.Must(maps.List(t.Context(), metav1.ListOptions{}))(t)
		watched := testkit.Must(maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, LabelSelector: "see=me"}))(t)
		defer watched.Stop()
		name := fmt.Sprintf("map-%d", i)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"see": "me"}}}
		object = testkit.Must(maps.Create(t.Context(), object, metav1.CreateOptions{}))(t)
		object.Data = map[string]string{"a": "b"}
		_ = testkit.Must(maps.Update(t.Context(), object, metav1.UpdateOptions{}))(t)
		testkit.NoError(t, maps.Delete(t.Context(), name, metav1.DeleteOptions{}))
		for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			event := <-watched.ResultChan()
			if got, ok := event.Object.(*corev1.ConfigMap); !ok || event.Type != want || got.Name != name {
				t.Errorf("%s: got %s %v, want %s", mediaType, event.Type, event.Object, want)
			}
		}
	}
}

func testFieldSelectors(t *testing.T, server *testServer, namespace string) {
	core := server.client.CoreV1()
	for _, name := range []string{"one", "two"} {
		event := &corev1.Event{ObjectMeta: named(name), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(name)}, Type: "Normal"}
		testkit.Must(core.Events(namespace).Create(t.Context(), event, metav1.CreateOptions{}))(t)
		pod := &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{NodeName: "node-" + name, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		testkit.Must(core.Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}))(t)
		secret := &corev1.Secret{ObjectMeta: named(name), Type: corev1.SecretType("example.com/" + name)}
		testkit.Must(core.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}))(t)
	}
	// As kubectl describe asks.
	about := core.Events(namespace).GetFieldSelector(new("two"), new(namespace), new("Pod"), new("two"))
	events, err := core.Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: about.String()})
	if err != nil || len(events.Items) != 1 || events.Items[0].Name != "two" {
		t.Errorf("events of a pod: %v, %v", events, err)
	}
	pods, err := core.Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=node-one,status.phase=Pending"})
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Name != "one" {
		t.Errorf("pods of a node: %v, %v", pods, err)
	}
	secrets, err := core.Secrets(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "type!=example.com/two"})
	if err != nil || len(secrets.Items) != 1 || secrets.Items[0].Name != "one" {
		t.Errorf("secrets not of a type: %v, %v", secrets, err)
	}
	unknown := metav1.ListOptions{FieldSelector: "spec.colour=red"}
	if _, err := core.Pods(namespace).List(t.Context(), unknown); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
	if err := core.Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, unknown); !apierrors.IsBadRequest(err) {
		t.Errorf("deleting by an unknown field: %v", err)
	}
}

func testCreateOnUpdate(t *testing.T, server *testServer, namespace string) {
	if code, _, body := server.request(t, "PUT", "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases/x",
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"}}`); code != 201 {
		t.Errorf("PUT of a missing lease: %d %s", code, body)
	}
	if code, _, body := server.request(t, "PUT", "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases/x",
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"holderIdentity":"me"}}`); code != 422 {
		t.Errorf("PUT of a lease without a version: %d %s", code, body)
	}
	path := "/api/v1/namespaces/" + namespace + "/configmaps"
	object := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"}}`
	if code, _, body := server.request(t, "PUT", path+"/x", object); code != 404 {
		t.Errorf("PUT of a missing configmap: %d %s", code, body)
	}
	if code, _, body := server.request(t, "POST", path, object); code != 201 {
		t.Fatalf("POST: %d %s", code, body)
	}
	if code, _, body := server.request(t, "PUT", path+"/x", strings.Replace(object, "b", "c", 1)); code != 200 {
		t.Errorf("PUT of a configmap without a version: %d %s", code, body)
	}
}

func testNames(t *testing.T, server *testServer, namespace string) {
	create := func(path, body string) int {
		code, _, _ := server.request(t, "POST", path, body)
		return code
	}
	for _, step := range []struct {
		path, name string
		code       int
	}{
		{"/api/v1/namespaces", "a.b", 422},
		{"/api/v1/namespaces/" + namespace + "/configmaps", "a.b", 201},
		{"/api/v1/namespaces/" + namespace + "/configmaps", "a:b", 422},
		{"/api/v1/namespaces/" + namespace + "/serviceaccounts", "A", 422},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "system:Node:a", 201},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "a%b", 422},
	} {
		if got := create(step.path, fmt.Sprintf(`{"metadata":{"name":%q}}`, step.name)); got != step.code {
			t.Errorf("%s %s: %d, want %d", step.path, step.name, got, step.code)
		}
	}
	code, _, body := server.request(t, "POST", "/api/v1/namespaces/"+namespace+"/configmaps", `{"metadata":{"generateName":"made-"}}`)
	if code != 201 || !strings.Contains(body, `"name":"made-`) {
		t.Errorf("a generated name: %d %s", code, body)
	}
}

func testWarnings(t *testing.T, server *testServer, namespace string) {
	path := "/api/v1/namespaces/" + namespace
	_, header, _ := server.request(t, "POST", path+"/pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	if got := header.Get("Warning"); !strings.Contains(got, notRun) {
		t.Errorf("who creates a pod is told %q", got)
	}
	_, header, _ = server.request(t, "POST", path+"/resourcequotas", `{"metadata":{"name":"x"},"spec":{"hard":{"count/configmaps":"1"}}}`)
	if got := header.Get("Warning"); !strings.Contains(got, notCounted) {
		t.Errorf("who creates a quota is told %q", got)
	}
	_, header, _ = server.request(t, "POST", path+"/configmaps", `{"metadata":{"name":"x"}}`)
	if got := header.Get("Warning"); got != "" {
		t.Errorf("who creates a configmap is told %q", got)
	}
}

// testEveryKind: each kind can be listed and watched, which is how extension servers
// begin, and the empty list has its kind.
func testEveryKind(t *testing.T, server *testServer, _ string) {
	for _, row := range resources() {
		path := "/apis/" + row.GroupVersion().String() + "/" + row.Resource
		if row.GroupVersionKind.Group == "" {
			path = "/api/v1/" + row.Resource
		}
		code, _, body := server.request(t, "GET", path, "")
		if code != 200 || !strings.Contains(body, `"kind":"`+row.GroupVersionKind.Kind+`List"`) {
			t.Errorf("list %s: %d %s", path, code, body)
		}
		if code := server.startWatch(t, path); code != 200 {
			t.Errorf("watch %s: %d", path, code)
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: named("every"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}}}
	if _, err := server.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}
