// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

func fieldSelectors(t *testing.T, w world) {
	client := w.reports(w.namespace)
	for _, name := range []string{"a", "b"} {
		mustCreate(t, client, report(name, 1))
	}
	all := w.client.Resource(policyReports)
	for selector, want := range map[string][]string{
		"metadata.name=a":       {"a"},
		"metadata.name!=a":      {"b"},
		"scope.name=pod-b":      {"b"},
		"source=test":           {"a", "b"},
		"scope.kind=Deployment": {},
		"metadata.name=a,metadata.namespace=" + w.namespace: {"a"},
		"metadata.namespace=elsewhere":                      {},
	} {
		if got := names(mustList(t, client, metav1.ListOptions{FieldSelector: selector})); !cmp.Equal(want, got) {
			t.Errorf("list with %s: got %v, want %v", selector, got, want)
		}
	}
	inAll := mustList(t, all, metav1.ListOptions{FieldSelector: "metadata.namespace=" + w.namespace})
	if got := names(inAll); !cmp.Equal([]string{"a", "b"}, got) {
		t.Errorf("list of all namespaces with metadata.namespace: got %v", got)
	}
	one := mustWatch(t, client, metav1.ListOptions{FieldSelector: "metadata.name=b"})
	for _, name := range []string{"a", "b"} {
		mustUpdate(t, client, labelled(mustGet(t, client, name), map[string]string{"x": "y"}))
	}
	wantEvents(t, one, "ADDED b", "MODIFIED b")

	const unsupported = "summary.fail=1"
	_, listErr := client.List(t.Context(), metav1.ListOptions{FieldSelector: unsupported})
	_, watchErr := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: unsupported})
	deleteErr := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: unsupported})
	for verb, err := range map[string]error{"list": listErr, "watch": watchErr, "deletecollection": deleteErr} {
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "summary.fail") {
			t.Errorf("%s with an unsupported field: got %v, want 400 that names it", verb, err)
		}
	}
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=a"}); err != nil {
		t.Errorf("deletecollection with a field selector: %v", err)
	}
	if got := names(mustList(t, client, metav1.ListOptions{})); !cmp.Equal([]string{"b"}, got) {
		t.Errorf("deletecollection with metadata.name=a left %v, want [b]", got)
	}
}

func paging(t *testing.T, w world) {
	client := w.reports(w.namespace)
	var want []string
	for i := range 10 {
		name := fmt.Sprintf("r%d", i)
		want = append(want, name)
		mustCreate(t, client, report(name, 1))
	}
	page := mustList(t, client, metav1.ListOptions{Limit: 3})
	if rest := page.GetRemainingItemCount(); rest == nil || *rest != 7 {
		t.Errorf("remainingItemCount is %v, want 7", ptr.Deref(rest, -1))
	}
	snapshot, got := page.GetResourceVersion(), names(page)
	mustDelete(t, client, "r5")
	mustCreate(t, client, report("r55", 1))
	for page.GetContinue() != "" {
		page = mustList(t, client, metav1.ListOptions{Limit: 3, Continue: page.GetContinue()})
		if page.GetResourceVersion() != snapshot {
			t.Errorf("a later page is of version %s, the first of %s", page.GetResourceVersion(), snapshot)
		}
		got = append(got, names(page)...)
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "pages do not show the snapshot (-want +got)")
	exact := mustList(t, client, metav1.ListOptions{ResourceVersion: snapshot, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	testkit.NoDiff(t, cmp.Diff(want, names(exact)), "list at exactly version %s (-want +got)", snapshot)
	pagingExpires(t)
}

// pagingExpires has a server of its own, since it drops history.
func pagingExpires(t *testing.T) {
	s := startServer(t, databases()["sqlite"](t))
	client := s.reports("expire")
	for i := range 4 {
		mustCreate(t, client, report(fmt.Sprintf("r%d", i), 1))
	}
	page := mustList(t, client, metav1.ListOptions{Limit: 2})
	mustDelete(t, client, "r3")
	last := mustCreate(t, client, report("r4", 1))
	testkit.NoError(t, s.Store.Compact(t.Context(), engine.Revision(version(t, last))))
	_, err := client.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.GetContinue()})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("continue below history: got %v, want 410", err)
	}
	status := apierrors.APIStatus(nil)
	if ok := asStatus(err, &status); !ok || status.Status().ListMeta.Continue == "" {
		t.Fatalf("410 carries no token to go on with: %v", err)
	}
	rest := mustList(t, client, metav1.ListOptions{Limit: 5, Continue: status.Status().ListMeta.Continue})
	testkit.NoDiff(t, cmp.Diff([]string{"r2", "r4"}, names(rest)), "the inconsistent rest (-want +got)")
	expired := mustWatch(t, client, metav1.ListOptions{ResourceVersion: "1"})
	event := nextAny(t, expired)
	if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watch below history: got %s %v, want an ERROR event with 410", event.Type, event.Object)
	}
}

func otherForms(t *testing.T, w world) {
	client := w.reports(w.namespace)
	mustCreate(t, client, labelled(report("a", 2), map[string]string{"x": "y"}))
	const asTable = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	var table metav1.Table
	list := w.do(t, http.MethodGet, reportsPath(w.namespace, ""), nil, asTable).want(t, http.StatusOK)
	testkit.NoError(t, json.Unmarshal(list.body, &table))
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, fmt.Sprint(column.Name, column.Priority))
	}
	if diff := cmp.Diff([]string{"Name0", "Kind0", "Name0", "Pass0", "Fail0", "Warn0", "Error0", "Skip0", "Age0"}, columns); diff != "" {
		t.Errorf("columns with their priorities (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 || fmt.Sprint(table.Rows[0].Cells[:3]) != "[a Pod pod-a]" || fmt.Sprint(table.Rows[0].Cells[4]) != "2" {
		t.Errorf("rows are %v", table.Rows)
	}
	watched := w.do(t, http.MethodGet, reportsPath(w.namespace, "")+"?watch=true&timeoutSeconds=1", nil, asTable).want(t, http.StatusOK)
	if !strings.Contains(string(watched.body), `"kind":"Table"`) || !strings.Contains(string(watched.body), `"ADDED"`) {
		t.Errorf("watch as Table: %.500s", watched.body)
	}

	partial := testkit.Must(metadata.NewForConfigAndClient(metadata.ConfigFor(w.config), w.http))(t)
	stream := mustWatchMetadata(t, partial.Resource(policyReports).Namespace(w.namespace))
	event := next(t, stream)
	object, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok || event.Type != watch.Added || object.Name != "a" || object.Labels["x"] != "y" {
		t.Errorf("watch of metadata gave %s %v", event.Type, event.Object)
	}
	items, err := partial.Resource(policyReports).Namespace(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(items.Items) != 1 || items.Items[0].Name != "a" {
		t.Errorf("list of metadata: %v %v", items, err)
	}
}

func mustWatchMetadata(t testing.TB, client metadata.ResourceInterface) watch.Interface {
	t.Helper()
	w := testkit.Must(client.Watch(t.Context(), metav1.ListOptions{}))(t)
	t.Cleanup(w.Stop)
	return w
}

// labelSelector checks the answer and that it does not cost a read of everything;
// the time at 100,000 reports is the business of the benchmarks.
func labelSelector(t *testing.T, w world) {
	client := w.reports(w.namespace)
	const count = 400
	for i := range count {
		mustCreate(t, client, labelled(report(fmt.Sprintf("r%d", i), 5), map[string]string{"audit.kyverno.io/resource.uid": fmt.Sprintf("uid-%d", i)}))
	}
	started := time.Now()
	if got := len(mustList(t, client, metav1.ListOptions{}).Items); got != count {
		t.Fatalf("%d reports, want %d", got, count)
	}
	everything := time.Since(started)
	fastest := time.Hour
	for range 5 {
		started = time.Now()
		got := names(mustList(t, client, metav1.ListOptions{LabelSelector: "audit.kyverno.io/resource.uid=uid-77"}))
		fastest = min(fastest, time.Since(started))
		if !cmp.Equal([]string{"r77"}, got) {
			t.Fatalf("selected %v, want [r77]", got)
		}
	}
	if fastest > everything/3 {
		t.Errorf("one of %d by label took %s, all of them %s: no index was used", count, fastest, everything)
	}
}

func openAPI(t *testing.T, w world) {
	var v2 struct {
		Paths       map[string]any
		Definitions map[string]struct {
			GVK []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
		}
	}
	answer := w.do(t, http.MethodGet, "/openapi/v2", nil, "Accept: application/json").want(t, http.StatusOK)
	testkit.NoError(t, json.Unmarshal(answer.body, &v2))
	kinds := map[string]bool{}
	for _, definition := range v2.Definitions {
		for _, gvk := range definition.GVK {
			kinds[gvk.Group+"/"+gvk.Version+" "+gvk.Kind] = true
		}
	}
	for _, kind := range []string{
		"wgpolicyk8s.io/v1alpha2 PolicyReport", "wgpolicyk8s.io/v1alpha2 ClusterPolicyReport",
		"openreports.io/v1alpha1 Report", "openreports.io/v1alpha1 ClusterReport",
		"reports.kyverno.io/v1 EphemeralReport", "reports.kyverno.io/v1 ClusterEphemeralReport",
	} {
		if !kinds[kind] {
			t.Errorf("OpenAPI v2 does not define %s", kind)
		}
	}
	for kind := range kinds {
		if strings.Contains(kind, "__internal") {
			t.Errorf("OpenAPI v2 shows the internal version: %s", kind)
		}
	}
	var v3 struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	answer = w.do(t, http.MethodGet, "/openapi/v3", nil).want(t, http.StatusOK)
	testkit.NoError(t, json.Unmarshal(answer.body, &v3))
	for _, gv := range []string{"wgpolicyk8s.io/v1alpha2", "openreports.io/v1alpha1", "reports.kyverno.io/v1"} {
		document := w.do(t, http.MethodGet, v3.Paths["apis/"+gv].ServerRelativeURL, nil).want(t, http.StatusOK)
		if !json.Valid(document.body) || !strings.Contains(string(document.body), `"description"`) {
			t.Errorf("OpenAPI v3 of %s: %.200s", gv, document.body)
		}
	}
}
