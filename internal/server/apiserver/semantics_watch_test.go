// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/kit/testkit"
)

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
	mustDelete(t, w.reports(w.namespace), "own")
	wantEvents(t, mine, "ADDED own", "DELETED own")
}

func watchSelector(t *testing.T, w world) {
	client := w.reports(w.namespace)
	object := mustCreate(t, client, labelled(report("a", 1), map[string]string{"keep": "no"}))
	selected := mustWatch(t, client, metav1.ListOptions{LabelSelector: "keep=yes", ResourceVersion: object.GetResourceVersion()})
	bySource := mustWatch(t, client, metav1.ListOptions{FieldSelector: "scope.name=pod-b", ResourceVersion: object.GetResourceVersion()})

	object = mustUpdate(t, client, labelled(object, map[string]string{"keep": "yes"}))
	wantEvents(t, selected, "ADDED a")
	testkit.NoError(t, unstructured.SetNestedField(object.Object, "pod-b", "scope", "name"))
	object = mustUpdate(t, client, object)
	wantEvents(t, selected, "MODIFIED a")
	wantEvents(t, bySource, "ADDED a")
	object = mustUpdate(t, client, labelled(object, map[string]string{"keep": "no"}))
	event := next(t, selected)
	left, ok := event.Object.(*unstructured.Unstructured)
	if event.Type != watch.Deleted || !ok || left.GetResourceVersion() != object.GetResourceVersion() {
		t.Fatalf("leaving the selector gave %s %v, want DELETED at version %s", event.Type, event.Object, object.GetResourceVersion())
	}
	object = mustUpdate(t, client, labelled(object, map[string]string{"keep": "never"}))
	mustUpdate(t, client, labelled(object, map[string]string{"keep": "yes"}))
	wantEvents(t, selected, "ADDED a")
}

func watchResume(t *testing.T, w world) {
	client := w.reports(w.namespace)
	mustCreate(t, client, report("deleted", 1))
	kept := mustCreate(t, client, report("changed", 1))
	version := mustList(t, client, metav1.ListOptions{}).GetResourceVersion()

	mustDelete(t, client, "deleted")
	mustUpdate(t, client, labelled(kept, map[string]string{"x": "y"}))
	resumed := mustWatch(t, client, metav1.ListOptions{ResourceVersion: version})
	mustDelete(t, client, "changed")
	wantEvents(t, resumed, "DELETED deleted", "MODIFIED changed", "DELETED changed")
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
		testkit.NoDiff(t, cmp.Diff(list.Items, again.Items), "a restart changed the reports (-before +after)")
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

// stalledWatcher writes more than sockets and buffers hold while nobody reads.
func stalledWatcher(t *testing.T, w world) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, w.config.Host+reportsPath(w.namespace, "")+"?watch=true", nil))(t)
	response, err := w.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // It was never read to its end.
	reader := mustWatch(t, w.reports(w.namespace), metav1.ListOptions{})

	object := mustCreate(t, w.reports(w.namespace), report("a", 1000))
	started := time.Now()
	const writes = 25 // of half a megabyte each
	for i := range writes {
		object = mustUpdate(t, w.reports(w.namespace), labelled(object, map[string]string{"i": strconv.Itoa(i)}))
	}
	if took := time.Since(started); took > testkit.Patience {
		t.Errorf("%d writes took %s beside a stalled watcher", writes, took)
	}
	wantEvents(t, reader, "ADDED a")
	for range writes {
		wantEvents(t, reader, "MODIFIED a")
	}
}
