// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func stalePut(t *testing.T, w world) {
	client := w.reports(w.namespace)
	first := mustCreate(t, client, report("a", 1))
	current := mustUpdate(t, client, labelled(first.DeepCopy(), map[string]string{"x": "1"}))
	_, err := client.Update(t.Context(), labelled(first, map[string]string{"x": "2"}), metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("PUT of an old version: got %v, want a conflict", err)
	}
	if got := mustGet(t, client, "a"); got.GetLabels()["x"] != "1" || got.GetResourceVersion() != current.GetResourceVersion() {
		t.Errorf("the stale PUT changed the report: %v", got.Object)
	}
	// Custom resources demand a version, too.
	unconditional := labelled(report("a", 1), map[string]string{"x": "3"})
	_, err = client.Update(t.Context(), unconditional, metav1.UpdateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.resourceVersion") {
		t.Errorf("PUT without a version: got %v, want 422 that names metadata.resourceVersion", err)
	}
}

func postTwice(t *testing.T, w world) {
	client := w.reports(w.namespace)
	first := mustCreate(t, client, report("a", 1))
	_, err := client.Create(t.Context(), report("a", 2), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "policyreports.wgpolicyk8s.io") {
		t.Errorf("second POST: got %v, want AlreadyExists of policyreports.wgpolicyk8s.io", err)
	}
	if got := mustGet(t, client, "a"); got.GetResourceVersion() != first.GetResourceVersion() {
		t.Error("the second POST changed the report")
	}
}

func putCodes(t *testing.T, w world) {
	body := marshal(t, report("missing", 1))
	answer := w.do(t, http.MethodPut, reportsPath(w.namespace, "missing"), body).want(t, http.StatusNotFound)
	if status := statusOf(t, answer); status.Reason != metav1.StatusReasonNotFound || status.Details.Group != "wgpolicyk8s.io" {
		t.Errorf("PUT of a missing report: %s", answer.body)
	}
	created := mustCreate(t, w.reports(w.namespace), report("there", 1))
	w.do(t, http.MethodPut, reportsPath(w.namespace, "there"), marshal(t, labelled(created, map[string]string{"x": "y"}))).
		want(t, http.StatusOK)
	w.do(t, http.MethodPost, reportsPath(w.namespace, ""), marshal(t, report("new", 1))).want(t, http.StatusCreated)
}

func marshal(t testing.TB, object any) []byte {
	t.Helper()
	return testkit.Must(json.Marshal(object))(t)
}

func statusOf(t testing.TB, a answer) metav1.Status {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal(a.body, &status); err != nil || status.Kind != "Status" {
		t.Fatalf("answer %s is no Status (%v):\n%.500s", a.Status, err, a.body)
	}
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	return status
}

func serverSideApply(t *testing.T, w world) {
	client := w.reports(w.namespace)
	apply := func(manager, value string, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
		options.FieldManager = manager
		return client.Apply(t.Context(), "a", labelled(report("a", 1), map[string]string{"owner": value}), options)
	}
	testkit.Must(apply("one", "dry", metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	if _, err := client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a dry run wrote: %v", err)
	}
	first, err := apply("one", "1", metav1.ApplyOptions{})
	if err != nil {
		t.Fatalf("apply that creates: %v", err)
	}
	same, err := apply("one", "1", metav1.ApplyOptions{})
	if err != nil || same.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("applying the same again: error %v, version %s, want %s", err, same.GetResourceVersion(), first.GetResourceVersion())
	}
	// The server counts generations, whatever is applied. Managed fields have a time, to the second.
	<-time.After(time.Until(first.GetManagedFields()[0].Time.Add(time.Second)))
	counted := labelled(report("a", 1), map[string]string{"owner": "1"})
	counted.SetGeneration(7)
	same, err = client.Apply(t.Context(), "a", counted, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || same.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("applying the same with another generation: error %v, version %s, want %s", err, same.GetResourceVersion(), first.GetResourceVersion())
	}
	if _, err = apply("two", "2", metav1.ApplyOptions{}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "owner") {
		t.Errorf("apply by another manager: got %v, want a conflict about the label", err)
	}
	forced, err := apply("two", "2", metav1.ApplyOptions{Force: true})
	if err != nil || forced.GetLabels()["owner"] != "2" {
		t.Fatalf("forced apply: error %v, labels %v", err, forced.GetLabels())
	}
	var managers []string
	for _, entry := range forced.GetManagedFields() {
		managers = append(managers, entry.Manager+" "+string(entry.Operation))
	}
	slices.Sort(managers)
	testkit.NoDiff(t, cmp.Diff([]string{"one Apply", "two Apply"}, managers), "field managers (-want +got)")
}

func finalizers(t *testing.T, w world) {
	client := w.reports(w.namespace)
	object := report("a", 1)
	object.SetFinalizers([]string{"example.org/hold"})
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: "u1"}})
	created := mustCreate(t, client, object)
	events := mustWatch(t, client, metav1.ListOptions{ResourceVersion: created.GetResourceVersion()})

	foreign := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}}
	if err := client.Delete(t.Context(), "a", foreign); !apierrors.IsConflict(err) {
		t.Errorf("delete with another uid: got %v, want a conflict", err)
	}
	stale := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}}
	if err := client.Delete(t.Context(), "a", stale); !apierrors.IsConflict(err) {
		t.Errorf("delete with an old version: got %v, want a conflict", err)
	}
	right := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(created.GetUID())}}
	testkit.NoError(t, client.Delete(t.Context(), "a", right))
	dying := mustGet(t, client, "a")
	if dying.GetDeletionTimestamp() == nil || len(dying.GetOwnerReferences()) != 1 {
		t.Fatalf("a report with a finalizer was not marked: %v", dying.Object["metadata"])
	}
	dying.SetFinalizers(nil)
	testkit.Must(client.Update(t.Context(), dying, metav1.UpdateOptions{}))(t)
	wantEvents(t, events, "MODIFIED a", "DELETED a")
	if _, err := client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: got %v, want not found", err)
	}
}

func deleteCollection(t *testing.T, w world) {
	client := w.reports(w.namespace)
	for i := range 20 {
		mustCreate(t, client, labelled(report(fmt.Sprintf("r%d", i), 1), map[string]string{"even": strconv.FormatBool(i%2 == 0)}))
	}
	mustCreate(t, w.reports(w.namespace+"-other"), report("stays", 1))
	testkit.NoError(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "even!=true"}))
	if got := len(mustList(t, client, metav1.ListOptions{}).Items); got != 10 {
		t.Errorf("%d reports are left, want 10", got)
	}
	// As the namespace controller does.
	testkit.NoError(t, client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	if got := names(mustList(t, client, metav1.ListOptions{})); len(got) != 0 {
		t.Errorf("%v are left in the namespace", got)
	}
	mustGet(t, w.reports(w.namespace+"-other"), "stays")

	var resources metav1.APIResourceList
	answer := w.do(t, http.MethodGet, "/apis/wgpolicyk8s.io/v1alpha2", nil).want(t, http.StatusOK)
	testkit.NoError(t, json.Unmarshal(answer.body, &resources))
	want := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, resource := range resources.APIResources {
		testkit.NoDiff(t, cmp.Diff(want, resource.Verbs), "verbs of %s (-want +got)", resource.Name)
	}
}

func metadataRules(t *testing.T, w world) {
	client := w.reports(w.namespace)
	generated := report("", 1)
	generated.SetGenerateName("gen-")
	named := mustCreate(t, client, generated)
	if !strings.HasPrefix(named.GetName(), "gen-") || len(named.GetName()) <= len("gen-") {
		t.Errorf("generated name is %q", named.GetName())
	}
	created := mustCreate(t, client, report("a", 1))
	if created.GetUID() == "" || created.GetCreationTimestamp() == (metav1.Time{}) || created.GetGeneration() != 1 || created.GetNamespace() != w.namespace {
		t.Errorf("metadata of a new report: %v", created.Object["metadata"])
	}
	same := mustUpdate(t, client, created.DeepCopy())
	if same.GetResourceVersion() != created.GetResourceVersion() {
		t.Errorf("a PUT that changes nothing moved the version from %s to %s", created.GetResourceVersion(), same.GetResourceVersion())
	}
	label := mustUpdate(t, client, labelled(created.DeepCopy(), map[string]string{"x": "y"}))
	if label.GetGeneration() != 1 {
		t.Errorf("a label moved the generation to %d", label.GetGeneration())
	}
	testkit.NoError(t, unstructured.SetNestedField(label.Object, int64(7), "summary", "fail"))
	if content := mustUpdate(t, client, label); content.GetGeneration() != 2 {
		t.Errorf("a changed report has generation %d, want 2", content.GetGeneration())
	}
	forged := mustGet(t, client, "a")
	forged.SetUID("forged")
	if _, err := client.Update(t.Context(), forged, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("PUT with another uid: got %v, want a conflict", err)
	}
	moved := mustGet(t, client, "a")
	moved.SetCreationTimestamp(metav1.NewTime(time.Unix(0, 0)))
	moved.SetLabels(map[string]string{"x": "z"})
	if got := mustUpdate(t, client, moved); got.GetCreationTimestamp() != created.GetCreationTimestamp() {
		t.Errorf("creationTimestamp became %s", got.GetCreationTimestamp())
	}
}

func patchTypes(t *testing.T, w world) {
	client := w.reports(w.namespace)
	mustCreate(t, client, report("a", 2))
	patch := func(kind types.PatchType, body string) *unstructured.Unstructured {
		t.Helper()
		got, err := client.Patch(t.Context(), "a", kind, []byte(body), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		return got
	}
	if got := patch(types.MergePatchType, `{"metadata":{"labels":{"x":"1"}}}`); got.GetLabels()["x"] != "1" {
		t.Errorf("merge patch gave %v", got.GetLabels())
	}
	if got := patch(types.JSONPatchType, `[{"op":"replace","path":"/metadata/labels/x","value":"2"}]`); got.GetLabels()["x"] != "2" {
		t.Errorf("JSON patch gave %v", got.GetLabels())
	}
	_, err := client.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/labels/x","value":"no"}]`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("JSON patch whose test fails: got %v, want 422", err)
	}
	_, err = client.Patch(t.Context(), "missing", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("patch of a missing report: got %v, want 404", err)
	}
	_, err = client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1","labels":{"x":"3"}}}`), metav1.PatchOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("patch with an old version: got %v, want 409", err)
	}
	answer := w.do(t, http.MethodPatch, reportsPath(w.namespace, "a"), []byte(`{}`), "Content-Type: text/plain").want(t, http.StatusUnsupportedMediaType)
	if status := statusOf(t, answer); status.Reason != metav1.StatusReasonUnsupportedMediaType {
		t.Errorf("patch of an unknown type: %s", answer.body)
	}
}
