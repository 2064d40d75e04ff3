// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/store/engine"
)

// world is what a test of semantics works with.
type world struct {
	*testServer
	// url of the database, for a second replica.
	url string
	// namespace that no other test uses.
	namespace string
	// shared tells that other replicas may open the database.
	shared bool
}

// TestSemantics has one test for each line of the API's promises (docs/api.md), on
// every engine. They share a server and have a namespace each.
func TestSemantics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"01 write on replica A, watch on replica B", writeHereWatchThere},
		{"02 a watch shows its own namespace only", watchOneNamespace},
		{"03 selector watches: leaving is DELETED, entering is ADDED", watchSelector},
		{"04 resume delivers missed deletes without replay", watchResume},
		{"05 resource versions rise over restarts and replicas", versionsRise},
		{"06 stale PUT is 409", stalePut},
		{"07 POST twice is 409 AlreadyExists", postTwice},
		{"08 PUT of a missing object is 404, of another 200", putCodes},
		{"09 server-side apply", serverSideApply},
		{"10 field selectors", fieldSelectors},
		{"11 paging is consistent, and expires with 410", paging},
		{"12a sendInitialEvents and bookmarks", initialEvents},
		{"12b Table and PartialObjectMetadata", otherForms},
		{"13 a stalled watcher does not slow writers", stalledWatcher},
		{"15a finalizers and preconditions", finalizers},
		{"15b deletecollection and the verbs that controllers need", deleteCollection},
		{"16 metadata is kept", metadataRules},
		{"17 patch types", patchTypes},
		{"19 a label selector finds one among many", labelSelector},
		{"20 OpenAPI v2 and v3", openAPI},
	}
	for engineName, newURL := range databases() {
		t.Run(engineName, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			server := startServer(t, url)
			// A group, so that the server lives until the parallel tests have ended.
			t.Run("lines", func(t *testing.T) {
				for i, test := range tests {
					t.Run(test.name, func(t *testing.T) {
						t.Parallel()
						test.run(t, world{
							testServer: server, url: url, namespace: "line-" + strconv.Itoa(i), shared: engineName != "sqlite",
						})
					})
				}
			})
		})
	}
}

func writeHereWatchThere(t *testing.T, w world) {
	if !w.shared {
		// The other promise: a second process is refused, with a reason.
		_, err := newServer(t.Context(), w.url)
		if err == nil || !strings.Contains(err.Error(), "--database") || !isLocked(err) {
			t.Fatalf("a second server on one SQLite file: got error %v, want one that says that it is in use", err)
		}
		return
	}
	other := startServer(t, w.url)
	there := mustWatch(t, other.reports(w.namespace), metav1.ListOptions{})
	created := mustCreate(t, w.reports(w.namespace), report("a", 1))
	wantEvents(t, there, "ADDED a")
	created.SetLabels(map[string]string{"x": "y"})
	updated := mustUpdate(t, w.reports(w.namespace), created)
	wantEvents(t, there, "MODIFIED a")
	if got := mustGet(t, other.reports(w.namespace), "a"); got.GetResourceVersion() != updated.GetResourceVersion() {
		t.Errorf("the other replica has version %s, want %s", got.GetResourceVersion(), updated.GetResourceVersion())
	}
	mustDelete(t, other.reports(w.namespace), "a")
	wantEvents(t, there, "DELETED a")
}

func watchOneNamespace(t *testing.T, w world) {
	mine := mustWatch(t, w.reports(w.namespace), metav1.ListOptions{})
	for _, namespace := range []string{w.namespace + "x", w.namespace[:3]} {
		mustCreate(t, w.reports(namespace), report("foreign", 1))
		t.Cleanup(func() {
			_ = w.reports(namespace).Delete(context.WithoutCancel(t.Context()), "foreign", metav1.DeleteOptions{})
		})
	}
	mustCreate(t, w.reports(w.namespace), report("own", 1))
	wantEvents(t, mine, "ADDED own")
	wantQuiet(t, mine)
}

func watchSelector(t *testing.T, w world) {
	client := w.reports(w.namespace)
	object := mustCreate(t, client, labelled(report("a", 1), map[string]string{"keep": "no"}))
	selected := mustWatch(t, client, metav1.ListOptions{LabelSelector: "keep=yes", ResourceVersion: object.GetResourceVersion()})
	bySource := mustWatch(t, client, metav1.ListOptions{FieldSelector: "scope.name=pod-b", ResourceVersion: object.GetResourceVersion()})

	object = mustUpdate(t, client, labelled(object, map[string]string{"keep": "yes"}))
	wantEvents(t, selected, "ADDED a")
	if err := unstructured.SetNestedField(object.Object, "pod-b", "scope", "name"); err != nil {
		t.Fatal(err)
	}
	object = mustUpdate(t, client, object)
	wantEvents(t, selected, "MODIFIED a")
	wantEvents(t, bySource, "ADDED a")
	object = mustUpdate(t, client, labelled(object, map[string]string{"keep": "no"}))
	event := next(t, selected)
	left, ok := event.Object.(*unstructured.Unstructured)
	if event.Type != watch.Deleted || !ok || left.GetResourceVersion() != object.GetResourceVersion() {
		t.Fatalf("leaving the selector gave %s %v, want DELETED at version %s", event.Type, event.Object, object.GetResourceVersion())
	}
	mustUpdate(t, client, labelled(object, map[string]string{"keep": "never"}))
	wantQuiet(t, selected)
}

func watchResume(t *testing.T, w world) {
	client := w.reports(w.namespace)
	mustCreate(t, client, report("deleted", 1))
	kept := mustCreate(t, client, report("changed", 1))
	version := mustList(t, client, metav1.ListOptions{}).GetResourceVersion()

	mustDelete(t, client, "deleted")
	mustUpdate(t, client, labelled(kept, map[string]string{"x": "y"}))
	resumed := mustWatch(t, client, metav1.ListOptions{ResourceVersion: version})
	wantEvents(t, resumed, "DELETED deleted", "MODIFIED changed")
	wantQuiet(t, resumed)
}

func versionsRise(t *testing.T, w world) {
	servers := []*testServer{w.testServer, w.testServer}
	switch {
	case w.shared:
		servers[1] = startServer(t, w.url)
	default:
		// A file of its own, since this test stops the server.
		url := databases()["sqlite"](t)
		first := startServer(t, url)
		mustCreate(t, first.reports(w.namespace), report("before", 1))
		list := mustList(t, first.reports(w.namespace), metav1.ListOptions{})
		first.stop()
		second := startServer(t, url)
		again := mustList(t, second.reports(w.namespace), metav1.ListOptions{})
		if diff := cmp.Diff(list.Items, again.Items); diff != "" {
			t.Errorf("a restart changed the reports (-before +after):\n%s", diff)
		}
		if version(t, again) < version(t, list) {
			t.Errorf("list version fell from %s to %s over a restart", list.GetResourceVersion(), again.GetResourceVersion())
		}
		servers = []*testServer{second, second}
	}
	var last uint64
	for i := range 6 {
		created := mustCreate(t, servers[i%2].reports(w.namespace), report(fmt.Sprintf("r%d", i), 1))
		if v := version(t, created); v <= last {
			t.Errorf("version %d of write %d is not above %d", v, i, last)
		} else {
			last = v
		}
		list := mustList(t, servers[(i+1)%2].reports(w.namespace), metav1.ListOptions{})
		if v := version(t, list); v < last {
			t.Errorf("list at version %d is behind the acknowledged write %d", v, last)
		}
		for j := range list.Items {
			if version(t, &list.Items[j]) > version(t, list) {
				t.Errorf("item %s is newer than its list", list.Items[j].GetName())
			}
		}
	}
}

func version(t *testing.T, object interface{ GetResourceVersion() string }) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatalf("resource version %q: %v", object.GetResourceVersion(), err)
	}
	return v
}

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
	// A PUT without a version overwrites, as it does for custom resources... that
	// demand one: they answer 422.
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
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
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
	if _, err := apply("one", "dry", metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatalf("dry run of an apply: %v", err)
	}
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
	if diff := cmp.Diff([]string{"one Apply", "two Apply"}, managers); diff != "" {
		t.Errorf("field managers (-want +got):\n%s", diff)
	}
}

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
	wantEvents(t, one, "ADDED b")
	wantQuiet(t, one)

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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages do not show the snapshot (-want +got):\n%s", diff)
	}
	exact := mustList(t, client, metav1.ListOptions{ResourceVersion: snapshot, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if diff := cmp.Diff(want, names(exact)); diff != "" {
		t.Errorf("list at exactly version %s (-want +got):\n%s", snapshot, diff)
	}
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
	if err := s.Store.Compact(t.Context(), engine.Revision(version(t, last))); err != nil {
		t.Fatal(err)
	}
	_, err := client.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.GetContinue()})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("continue below history: got %v, want 410", err)
	}
	status := apierrors.APIStatus(nil)
	if ok := asStatus(err, &status); !ok || status.Status().ListMeta.Continue == "" {
		t.Fatalf("410 carries no token to go on with: %v", err)
	}
	rest := mustList(t, client, metav1.ListOptions{Limit: 5, Continue: status.Status().ListMeta.Continue})
	if diff := cmp.Diff([]string{"r2", "r4"}, names(rest)); diff != "" {
		t.Errorf("the inconsistent rest (-want +got):\n%s", diff)
	}
	expired := mustWatch(t, client, metav1.ListOptions{ResourceVersion: "1"})
	event := nextAny(t, expired)
	if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watch below history: got %s %v, want an ERROR event with 410", event.Type, event.Object)
	}
}

func initialEvents(t *testing.T, w world) {
	client := w.reports(w.namespace)
	for _, name := range []string{"a", "b"} {
		mustCreate(t, client, report(name, 1))
	}
	stream := mustWatch(t, client, metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	wantEvents(t, stream, "ADDED a", "ADDED b")
	event := nextAny(t, stream)
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type != watch.Bookmark || object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Fatalf("after the initial events came %s %v, want the bookmark", event.Type, event.Object)
	}
	created := mustCreate(t, client, report("c", 1))
	if version(t, object) >= version(t, created) {
		t.Errorf("the bookmark has version %s, not below %s", object.GetResourceVersion(), created.GetResourceVersion())
	}
	wantEvents(t, stream, "ADDED c")
}

func otherForms(t *testing.T, w world) {
	client := w.reports(w.namespace)
	mustCreate(t, client, labelled(report("a", 2), map[string]string{"x": "y"}))
	const asTable = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	var table metav1.Table
	list := w.do(t, http.MethodGet, reportsPath(w.namespace, ""), nil, asTable).want(t, http.StatusOK)
	if err := json.Unmarshal(list.body, &table); err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, fmt.Sprint(column.Name, column.Priority))
	}
	if diff := cmp.Diff([]string{"Name0", "Kind1", "Name1", "Pass0", "Fail0", "Warn0", "Error0", "Skip0", "Age0"}, columns); diff != "" {
		t.Errorf("columns with their priorities (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 || fmt.Sprint(table.Rows[0].Cells[:3]) != "[a Pod pod-a]" || fmt.Sprint(table.Rows[0].Cells[4]) != "2" {
		t.Errorf("rows are %v", table.Rows)
	}
	watched := w.do(t, http.MethodGet, reportsPath(w.namespace, "")+"?watch=true&timeoutSeconds=1", nil, asTable).want(t, http.StatusOK)
	if !strings.Contains(string(watched.body), `"kind":"Table"`) || !strings.Contains(string(watched.body), `"ADDED"`) {
		t.Errorf("watch as Table: %.500s", watched.body)
	}

	partial, err := metadata.NewForConfigAndClient(metadata.ConfigFor(w.config), w.http)
	if err != nil {
		t.Fatal(err)
	}
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
	w, err := client.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// stalledWatcher writes more than sockets and buffers hold while nobody reads.
func stalledWatcher(t *testing.T, w world) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.config.Host+reportsPath(w.namespace, "")+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := mustWatch(t, w.reports(w.namespace), metav1.ListOptions{})

	object := mustCreate(t, w.reports(w.namespace), report("a", 1000))
	started := time.Now()
	const writes = 100
	for i := range writes {
		object = mustUpdate(t, w.reports(w.namespace), labelled(object, map[string]string{"i": strconv.Itoa(i)}))
	}
	if took := time.Since(started); took > patience {
		t.Errorf("%d writes took %s beside a stalled watcher", writes, took)
	}
	wantEvents(t, reader, "ADDED a")
	for range writes {
		wantEvents(t, reader, "MODIFIED a")
	}
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
	if err := client.Delete(t.Context(), "a", right); err != nil {
		t.Fatalf("delete with the uid: %v", err)
	}
	dying := mustGet(t, client, "a")
	if dying.GetDeletionTimestamp() == nil || len(dying.GetOwnerReferences()) != 1 {
		t.Fatalf("a report with a finalizer was not marked: %v", dying.Object["metadata"])
	}
	dying.SetFinalizers(nil)
	if _, err := client.Update(t.Context(), dying, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("remove the finalizer: %v", err)
	}
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
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "even!=true"}); err != nil {
		t.Fatal(err)
	}
	if got := len(mustList(t, client, metav1.ListOptions{}).Items); got != 10 {
		t.Errorf("%d reports are left, want 10", got)
	}
	// As the namespace controller does.
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := names(mustList(t, client, metav1.ListOptions{})); len(got) != 0 {
		t.Errorf("%v are left in the namespace", got)
	}
	mustGet(t, w.reports(w.namespace+"-other"), "stays")

	var resources metav1.APIResourceList
	answer := w.do(t, http.MethodGet, "/apis/wgpolicyk8s.io/v1alpha2", nil).want(t, http.StatusOK)
	if err := json.Unmarshal(answer.body, &resources); err != nil {
		t.Fatal(err)
	}
	want := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, resource := range resources.APIResources {
		if diff := cmp.Diff(want, resource.Verbs); diff != "" {
			t.Errorf("verbs of %s (-want +got):\n%s", resource.Name, diff)
		}
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
	if err := unstructured.SetNestedField(label.Object, int64(7), "summary", "fail"); err != nil {
		t.Fatal(err)
	}
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

// labelSelector checks the answer and that it does not cost a read of everything;
// the time at 100,000 reports is the business of the benchmarks.
func labelSelector(t *testing.T, w world) {
	client := w.reports(w.namespace)
	const count = 1000
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
	if err := json.Unmarshal(answer.body, &v2); err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(answer.body, &v3); err != nil {
		t.Fatal(err)
	}
	for _, gv := range []string{"wgpolicyk8s.io/v1alpha2", "openreports.io/v1alpha1", "reports.kyverno.io/v1"} {
		document := w.do(t, http.MethodGet, v3.Paths["apis/"+gv].ServerRelativeURL, nil).want(t, http.StatusOK)
		if !json.Valid(document.body) || !strings.Contains(string(document.body), `"description"`) {
			t.Errorf("OpenAPI v3 of %s: %.200s", gv, document.body)
		}
	}
}
