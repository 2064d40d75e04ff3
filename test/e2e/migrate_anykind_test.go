// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// TestMigrateAnyKind moves kinds that are no reports from CRDs into Docket and back while clients write objects and
// their status, and kills the migration in each direction.
func TestMigrateAnyKind(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	m := startMigration(t, gadgetKinds(), gadgetCRD, "v1", "v1beta1")
	m.fillGadgets(t)
	folder := t.TempDir()
	for _, kind := range m.kinds {
		testkit.NoError(t, os.WriteFile(filepath.Join(folder, kind.Resource+".yaml"), []byte(gadgetCRD(kind)), 0o600))
	}
	m.replica = m.cluster.Serve(t, "--custom-resources", folder, "--registration-check-interval=500ms")
	m.register(t)
	before := m.all(t)
	writers, stopWriters := startLedger(t, m.written, 2, 20*time.Millisecond)
	status := m.startStatus(t)
	writers.waitFor(t, 20)
	reader := startReader(t, writers)
	waitRegistration(t, m.replica, "example.com", "elsewhere")

	t.Log("into Docket")
	output := m.run(t, []kill{{after: "All objects are copied", within: time.Second}}, "--switch", "--api-services", m.services)
	wantOutput(t, output, "Verified: ", "Done: the objects are in Docket")
	m.wantVersions(t)
	m.wantLocal(t, false)
	if diff := cmp.Diff(before, m.all(t)); diff != "" {
		t.Errorf("objects were changed by the migration into Docket (-before +after):\n%.4000s", diff)
	}

	other := m.client(t).Resource(resourceOf(m.kinds[0]).GroupResource().WithVersion("v1beta1")).Namespace(gadgetNamespace)
	object := testkit.Must(other.Get(t.Context(), "a008", metav1.GetOptions{}))(t)
	if seen, _, err := unstructured.NestedInt64(object.Object, "status", "seen"); err != nil || seen != 8 {
		t.Errorf("the other version has status %v, %v", object.Object["status"], err)
	}
	waitRegistration(t, m.replica, "example.com")

	t.Log("free etcd")
	wantOutput(t, m.run(t, nil, "--delete-from-cluster"), "Deleted ")
	if n := m.inEtcd(t); n != 0 {
		t.Errorf("%d objects are left in etcd", n)
	}
	// kube-apiserver looks at its APIServices again when a CRD changes.
	m.cluster.Kubectl(t, "default").Run(t, "label", "crd", "gadgets.example.com", "looked=at")
	writers.waitFor(t, 50)
	status.waitFor(t, 5)
	reader.check(t)
	m.wantLocal(t, false)
	if n := m.inEtcd(t); n != 0 {
		t.Errorf("%d objects were written to etcd after the switch", n)
	}
	if diff := cmp.Diff(before, m.all(t)); diff != "" {
		t.Errorf("objects were changed by freeing etcd (-before +after):\n%.4000s", diff)
	}
	// The garbage collector knows the owner by its UID.
	testkit.Must(m.cluster.Client(t).CoreV1().ConfigMaps(gadgetNamespace).Get(t.Context(), "owned", metav1.GetOptions{}))(t)

	t.Log("back into the cluster")
	output = m.run(t, []kill{{after: "", within: 2 * time.Second}}, "--to-cluster", "--switch")
	wantOutput(t, output, "Verified: ", "Done: the objects are in the cluster")
	writers.waitFor(t, 50)
	status.waitFor(t, 5)
	reader.check(t)
	stopWriters()
	m.count(t)
	writers.check(t)
	status.check(t)
	if diff := cmp.Diff(withoutAssigned(before), withoutAssigned(m.all(t))); diff != "" {
		t.Errorf("objects were changed by the migration back (-before +after):\n%.4000s", diff)
	}
	if have, want := m.inEtcd(t), m.count(t); have != want {
		t.Errorf("%d objects are in etcd, a list has %d", have, want)
	}
	m.wantVersions(t)
	m.wantLocal(t, true)
	waitRegistration(t, m.replica, "example.com", "elsewhere")
}

const gadgetNamespace = "gadgets"

// gadgetKinds are a kind in namespaces and one without.
func gadgetKinds() []sample.Kind {
	return []sample.Kind{
		{APIVersion: "example.com/v1", Kind: "Gadget", Resource: "gadgets", Namespaced: true},
		{APIVersion: "example.com/v1", Kind: "Gizmo", Resource: "gizmos"},
	}
}

// gadgetCRD returns the definition of a kind with two versions, a status, a default and a number with fractions.
func gadgetCRD(kind sample.Kind) string {
	scope := "Cluster"
	if kind.Namespaced {
		scope = "Namespaced"
	}
	version := func(name string, storage bool) string {
		return fmt.Sprintf(`
  - name: %s
    served: true
    storage: %t
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 0}
              ratio: {type: number}
              color: {type: string, default: red}
          status:
            type: object
            properties:
              seen: {type: integer}
              observedGeneration: {type: integer}
`, name, storage)
	}
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  scope: %[2]s
  names: {kind: %[3]s, plural: %[1]s, singular: %[4]s}
  versions:%[5]s%[6]s`, kind.Resource, scope, kind.Kind, strings.ToLower(kind.Kind), version("v1", true), version("v1beta1", false))
}

// fillGadgets creates the objects that nobody changes during the test.
func (m *migration) fillGadgets(t *testing.T) {
	t.Helper()
	m.cluster.EnsureNamespace(t, gadgetNamespace)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	owners := []metav1.OwnerReference{m.owner(t)}
	for i := range 300 {
		kind := m.kinds[i%len(m.kinds)]
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": kind.APIVersion, "kind": kind.Kind, "spec": map[string]any{"size": int64(i), "ratio": float64(i) / 8},
		}}
		object.SetName(fmt.Sprintf("a%03d", i))
		object.SetOwnerReferences(owners)
		if i%20 == 0 {
			object.SetFinalizers([]string{"example.com/kept"})
		}
		client := m.gadgets(t, kind, gadgetNamespace)
		group.Go(func() error { return fillGadget(ctx, client, object, i) })
	}
	testkit.NoError(t, group.Wait())
	owner := testkit.Must(m.gadgets(t, m.kinds[0], gadgetNamespace).Get(t.Context(), "a000", metav1.GetOptions{}))(t)
	testkit.Must(m.cluster.Client(t).CoreV1().ConfigMaps(gadgetNamespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}},
	}}, metav1.CreateOptions{}))(t)
}

// fillGadget creates an object, changes its spec once in a while, and gives it a status.
func fillGadget(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured, i int) error {
	created, err := client.Create(ctx, object, metav1.CreateOptions{})
	if err == nil && i%7 == 0 {
		created.Object["spec"] = map[string]any{"size": int64(i), "ratio": 0.5, "color": "blue"}
		created, err = client.Update(ctx, created, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	created.Object["status"] = map[string]any{"seen": int64(i), "observedGeneration": created.GetGeneration()}
	_, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// gadgets is a client of a kind.
func (m *migration) gadgets(t *testing.T, kind sample.Kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	resource := m.client(t).Resource(resourceOf(kind))
	if !kind.Namespaced {
		return resource
	}
	return resource.Namespace(namespace)
}

// statusWriter raises a number in the status of an object, as a controller does.
type statusWriter struct {
	client       dynamic.ResourceInterface
	acknowledged atomic.Int64
	stop         func()
}

func (m *migration) startStatus(t *testing.T) *statusWriter {
	t.Helper()
	w := &statusWriter{client: m.gadgets(t, m.kinds[0], writtenNamespace)}
	object := m.written.object("status")
	testkit.Must(w.client.Create(t.Context(), object, metav1.CreateOptions{}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	w.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(w.stop)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := w.raise(ctx); err != nil && ctx.Err() == nil && !retriable(err) && !apierrors.IsConflict(err) {
				t.Errorf("raise the status: %v", err)
			}
			<-time.After(50 * time.Millisecond)
		}
	}()
	return w
}

// raise adds one to what was acknowledged last. An attempt whose answer was lost may have added it already.
func (w *statusWriter) raise(ctx context.Context) error {
	object, err := w.client.Get(ctx, "status", metav1.GetOptions{})
	if err != nil {
		return err
	}
	next := w.acknowledged.Load() + 1
	object.Object["status"] = map[string]any{"seen": next}
	if _, err := w.client.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err != nil {
		return err
	}
	w.acknowledged.Store(next)
	return nil
}

// waitFor returns when n more writes were acknowledged.
func (w *statusWriter) waitFor(t *testing.T, n int64) {
	t.Helper()
	until := w.acknowledged.Load() + n
	waitUntil(t, "the status was raised", func() bool { return w.acknowledged.Load() >= until })
}

// check ends the writes; the last one that was acknowledged must be there.
func (w *statusWriter) check(t *testing.T) {
	t.Helper()
	w.stop()
	object := testkit.Must(w.client.Get(t.Context(), "status", metav1.GetOptions{}))(t)
	seen, _, err := unstructured.NestedInt64(object.Object, "status", "seen")
	if acknowledged := w.acknowledged.Load(); err != nil || seen != acknowledged && seen != acknowledged+1 {
		t.Errorf("the status says %d (%v), %d was acknowledged", seen, err, acknowledged)
	}
}
