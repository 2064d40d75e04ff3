// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// settleTimeout bounds what kube-controller-manager does now and then: it looks for
// new resources every 30 s.
const settleTimeout = 6 * time.Minute

// TestGlobalPolicies is about what belongs to the whole cluster and must hold for
// reports although they are stored elsewhere: namespaces, quota, garbage, finalizers.
func TestGlobalPolicies(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	replica := c.Serve(t, "--database", testenv.Postgres(t).Database(t))
	c.Register(t, replica.Port)
	for name, test := range map[string]func(*testing.T, *harness.Cluster){
		"missing namespace":     testMissingNamespace,
		"terminating namespace": testTerminatingNamespace,
		"deleted namespace":     testDeletedNamespace,
		"quota":                 testQuota,
		"garbage":               testGarbage,
		"finalizers":            testFinalizers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// TestServeOnEtcd is the same server on the etcd engine: in the cluster's own etcd, and in Kine.
func TestServeOnEtcd(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for name, database := range map[string]func(*testing.T, *harness.Cluster) string{
		"etcd": func(_ *testing.T, c *harness.Cluster) string {
			return strings.Replace(c.EtcdURL(), "http://", "etcd://", 1) + "/docket"
		},
		"kine on postgres": func(t *testing.T, _ *harness.Cluster) string { return etcdAPIs()["kine on postgres"](t).Database },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.StartCluster(t)
			replica := c.Serve(t, "--database", database(t, c))
			c.Register(t, replica.Port)
			t.Run("missing namespace", func(t *testing.T) { testMissingNamespace(t, c) })
			t.Run("deleted namespace", func(t *testing.T) { testDeletedNamespace(t, c) })
			t.Run("finalizers", func(t *testing.T) { testFinalizers(t, c) })
			t.Run("garbage", func(t *testing.T) { testGarbage(t, c) })
			t.Run("quota", func(t *testing.T) { testQuota(t, c) })
		})
	}
}

// reports is a client for one kind in one namespace of a cluster.
type reports struct {
	dynamic.ResourceInterface
	kind      sample.Kind
	namespace string
}

func newReports(t testing.TB, c *harness.Cluster, kind sample.Kind, namespace string) reports {
	t.Helper()
	return reportsAt(t, c.RESTConfig(t), kind, namespace)
}

// reportsAt asks any server.
func reportsAt(t testing.TB, config *rest.Config, kind sample.Kind, namespace string) reports {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	version := testkit.Must(schema.ParseGroupVersion(kind.APIVersion))(t)
	resource := client.Resource(version.WithResource(kind.Resource))
	if !kind.Namespaced {
		return reports{resource, kind, ""}
	}
	return reports{resource.Namespace(namespace), kind, namespace}
}

// object is a report of the kind with two results.
func (r reports) object(name string) *unstructured.Unstructured {
	object := sample.Cluster{Now: time.Now()}.Report(r.kind, 1, 2)
	object.SetName(name)
	object.SetNamespace(r.namespace)
	object.SetOwnerReferences(nil)
	return object
}

func (r reports) create(t testing.TB, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	object := r.object(name)
	for _, f := range change {
		f(object)
	}
	created, err := r.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %s %s: %v", r.kind.Kind, name, err)
	}
	return created
}

// waitGone returns when the object is gone.
func (r reports) waitGone(t testing.TB, name string) {
	t.Helper()
	waitUntil(t, fmt.Sprintf("%s %s is gone", r.kind.Kind, name), func() bool {
		_, err := r.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func policyReports(t testing.TB, c *harness.Cluster, namespace string) reports {
	t.Helper()
	kind := testkit.Must(sample.KindOf("policyreports"))(t)
	return newReports(t, c, kind, namespace)
}

func testMissingNamespace(t *testing.T, c *harness.Cluster) {
	r := policyReports(t, c, "nowhere")
	_, err := r.Create(t.Context(), r.object("a"), metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `namespaces "nowhere" not found`) {
		t.Errorf("create in a missing namespace: got %v, want 404 that names the namespace", err)
	}
}

// testTerminatingNamespace holds a namespace in its last moments by an object of ours
// with a finalizer.
func testTerminatingNamespace(t *testing.T, c *harness.Cluster) {
	c.EnsureNamespace(t, "ending")
	r := policyReports(t, c, "ending")
	r.create(t, "held", func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/hold"}) })
	deleteNamespace(t, c, "ending")
	waitUntil(t, "creating in a terminating namespace is refused with 403 and its cause", func() bool {
		_, err := r.Create(t.Context(), r.object("late"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && apierrors.IsForbidden(err)
	})
	waitNamespaceSays(t, c, "ending", corev1.NamespaceFinalizersRemaining, "example.com/hold")
	testkit.Must(r.Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(t)
	waitNamespaceGone(t, c, "ending")
}

func deleteNamespace(t testing.TB, c *harness.Cluster, name string) {
	t.Helper()
	if err := c.Client(t).CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete namespace %s: %v", name, err)
	}
}

// waitNamespaceSays returns when a condition of the namespace is true and its message
// contains the text.
func waitNamespaceSays(t testing.TB, c *harness.Cluster, name string, condition corev1.NamespaceConditionType, text string) {
	t.Helper()
	waitSettled(t, 100*time.Millisecond, func() string {
		namespace := testkit.Must(c.Client(t).CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}))(t)
		for _, have := range namespace.Status.Conditions {
			if have.Type == condition && have.Status == corev1.ConditionTrue && strings.Contains(have.Message, text) {
				return ""
			}
		}
		return fmt.Sprintf("namespace %s does not say %s with %q; it says %+v", name, condition, text, namespace.Status.Conditions)
	})
}

func waitNamespaceGone(t testing.TB, c *harness.Cluster, name string) {
	t.Helper()
	waitUntil(t, "namespace "+name+" is gone", func() bool {
		_, err := c.Client(t).CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// testDeletedNamespace: all reports of a namespace go with it, those of others stay.
func testDeletedNamespace(t *testing.T, c *harness.Cluster) {
	c.EnsureNamespace(t, "left")
	c.EnsureNamespace(t, "kept")
	for _, kind := range sample.Kinds() {
		for i := range 25 {
			name := fmt.Sprintf("%s-%d", strings.ToLower(kind.Kind), i)
			if newReports(t, c, kind, "left").namespace == "" {
				continue
			}
			newReports(t, c, kind, "left").create(t, name)
			newReports(t, c, kind, "kept").create(t, name)
		}
	}
	deleteNamespace(t, c, "left")
	waitNamespaceGone(t, c, "left")
	for _, kind := range sample.Kinds() {
		for namespace, want := range map[string]int{"left": 0, "kept": 25} {
			r := newReports(t, c, kind, namespace)
			if r.namespace == "" {
				continue
			}
			list := testkit.Must(r.List(t.Context(), metav1.ListOptions{}))(t)
			if len(list.Items) != want {
				t.Errorf("%d %s in namespace %s, want %d", len(list.Items), kind.Kind, namespace, want)
			}
		}
	}
}

// countedReports is what quotas call the number of policy reports.
const countedReports = "count/policyreports.wgpolicyk8s.io"

// testQuota: an object-count quota is enforced, and what is deleted is given back.
func testQuota(t *testing.T, c *harness.Cluster) {
	c.EnsureNamespace(t, "bounded")
	quotas := c.Client(t).CoreV1().ResourceQuotas("bounded")
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "reports"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{countedReports: *apiresource.NewQuantity(2, apiresource.DecimalSI)}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitUsed(t, c, 0)
	r := policyReports(t, c, "bounded")
	r.create(t, "a")
	r.create(t, "b")
	_, err = r.Create(t.Context(), r.object("c"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: reports") {
		t.Errorf("the third report of two: got %v, want 403 that names the quota", err)
	}
	waitUsed(t, c, 2)
	testkit.NoError(t, r.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	waitUsed(t, c, 1)
	// The server hears of it by an informer, a moment later than we do.
	waitUntil(t, "what was deleted is given back", func() bool {
		_, err := r.Create(t.Context(), r.object("c"), metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			testkit.NoError(t, err)
		}
		return err == nil
	})
}

// waitUsed returns when the quota of the namespace bounded says that so many reports are used.
func waitUsed(t testing.TB, c *harness.Cluster, want int64) {
	t.Helper()
	waitSettled(t, 100*time.Millisecond, func() string {
		quota := testkit.Must(c.Client(t).CoreV1().ResourceQuotas("bounded").Get(t.Context(), "reports", metav1.GetOptions{}))(t)
		if used, ok := quota.Status.Used[countedReports]; ok && used.Value() == want {
			return ""
		}
		return fmt.Sprintf("the quota says %v is used, want %d", quota.Status.Used, want)
	})
}

// testGarbage: reports go with their owners, and own others.
func testGarbage(t *testing.T, c *harness.Cluster) {
	const namespace = "owners"
	c.EnsureNamespace(t, namespace)
	r := policyReports(t, c, namespace)
	maps := c.Client(t).CoreV1().ConfigMaps(namespace)
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.create(t, "owned", ownedBy("v1", "ConfigMap", owner.Name, owner.UID))
	r.create(t, "free")
	other := r.create(t, "owning")
	testkit.Must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: other.GetAPIVersion(), Kind: other.GetKind(), Name: other.GetName(), UID: other.GetUID()},
	}}}, metav1.CreateOptions{}))(t)
	r.create(t, "orphan", ownedBy("v1", "ConfigMap", "never", "00000000-0000-4000-8000-000000000000"))
	waitGarbageKnown(t, r)

	testkit.NoError(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	r.waitGone(t, "owned")
	testkit.NoError(t, r.Delete(t.Context(), "owning", metav1.DeleteOptions{}))
	waitUntil(t, "the ConfigMap that a report owned is gone", func() bool {
		_, err := maps.Get(t.Context(), "dependent", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if _, err := r.Get(t.Context(), "free", metav1.GetOptions{}); err != nil {
		t.Errorf("the report without an owner: %v", err)
	}
	testForeground(t, r)
}

// waitGarbageKnown returns when the collector has seen our resources: it has then
// removed the report whose owner never was.
func waitGarbageKnown(t *testing.T, r reports) {
	t.Helper()
	r.waitGone(t, "orphan")
}

// testForeground: an owner goes after what it owns.
func testForeground(t *testing.T, r reports) {
	t.Helper()
	first := r.create(t, "first")
	r.create(t, "second", ownedBy(first.GetAPIVersion(), first.GetKind(), first.GetName(), first.GetUID()),
		func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			blocks := true
			owners[0].BlockOwnerDeletion = &blocks
			o.SetOwnerReferences(owners)
		})
	foreground := metav1.DeletePropagationForeground
	testkit.NoError(t, r.Delete(t.Context(), "first", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	r.waitGone(t, "first")
	if _, err := r.Get(t.Context(), "second", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the dependent outlived its owner: %v", err)
	}
}

func ownedBy(apiVersion, kind, name string, uid types.UID) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid}})
	}
}

// testFinalizers: an object with a finalizer stays until it is removed, and can't be
// brought back.
func testFinalizers(t *testing.T, c *harness.Cluster) {
	c.EnsureNamespace(t, "finalizers")
	r := policyReports(t, c, "finalizers")
	r.create(t, "a", func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/hold"}) })
	testkit.NoError(t, r.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	got := testkit.Must(r.Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if got.GetDeletionTimestamp() == nil {
		t.Error("a deleted object with a finalizer has no deletionTimestamp")
	}
	patched, err := r.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"deletionTimestamp":null}}`), metav1.PatchOptions{})
	if err != nil || patched.GetDeletionTimestamp() == nil {
		t.Errorf("the deletion was taken back (%v)", err)
	}
	if _, err := r.Patch(t.Context(), "a", types.MergePatchType, mustJSON(t, map[string]any{"metadata": map[string]any{"finalizers": nil}}), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r.waitGone(t, "a")
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	return testkit.Must(json.Marshal(value))(t)
}
