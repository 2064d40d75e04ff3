// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

var reports = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}

var up uptest.Server

func TestMain(m *testing.M) { os.Exit(uptest.Run(m, &up)) }

// startUp returns the way to a control plane with a namespace a.
func startUp(t *testing.T) *rest.Config {
	t.Helper()
	config := testkit.Must(up.Config(func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		return err
	}))(t)
	return config
}

// startProxy returns a proxy for a server, and the way to it.
func startProxy(t *testing.T, config *rest.Config) (*Proxy, *rest.Config) {
	t.Helper()
	proxy := testkit.Must(NewProxy(config))(t)
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return proxy, &rest.Config{Host: server.URL, QPS: -1, UserAgent: "program/1.0"}
}

func newReport(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport",
		"metadata": map[string]any{"name": name}, "summary": map[string]any{"pass": int64(1)},
	}}
}

// runProgram makes the requests of a program that writes, while an informer watches; the informer ends
// with the test.
func runProgram(t *testing.T, config *rest.Config) {
	t.Helper()
	ctx := t.Context()
	seen := watchMetadata(t, config)
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	a := client.Resource(reports).Namespace("a")
	if _, err := a.Get(ctx, "first", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("get what is not there: %v", err)
	}
	first := testkit.Must(a.Create(ctx, newReport("first"), metav1.CreateOptions{}))(t)
	if _, err := a.Update(ctx, first, metav1.UpdateOptions{}); err != nil { // Changes nothing.
		t.Fatal(err)
	}
	changed := first.DeepCopy()
	changed.SetLabels(map[string]string{"a": "b"})
	testkit.Must(a.Update(ctx, changed, metav1.UpdateOptions{}))(t)
	if _, err := a.Update(ctx, first, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatalf("update of an old version: %v", err)
	}
	generated := newReport("")
	generated.SetGenerateName("made-")
	generated = testkit.Must(a.Create(ctx, generated, metav1.CreateOptions{}))(t)
	testkit.Must(a.Patch(ctx, generated.GetName(), types.MergePatchType, []byte(`{"summary":{"pass":2}}`), metav1.PatchOptions{}))(t)
	testkit.Must(a.List(ctx, metav1.ListOptions{LabelSelector: "a=b"}))(t)
	uid := first.GetUID()
	testkit.NoError(t, a.Delete(ctx, "first", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
	testkit.Eventually(t, "the informer sees one report", func() bool { return slices.Equal(seen(), []string{generated.GetName()}) })
}

// watchMetadata runs an informer, and returns what tells which names it has.
func watchMetadata(t *testing.T, config *rest.Config) func() []string {
	t.Helper()
	client := testkit.Must(metadata.NewForConfig(config))(t)
	informer := metadatainformer.NewFilteredMetadataInformer(client, reports, "a", 0, nil, nil).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	testkit.Eventually(t, "the informer has begun", informer.HasSynced)
	return func() []string {
		var names []string
		for _, key := range informer.GetStore().ListKeys() {
			names = append(names, strings.TrimPrefix(key, "a/"))
		}
		return names
	}
}

// copied returns a recording as it is read from its file.
func copied(t *testing.T, r *Recording) *Recording {
	t.Helper()
	var file bytes.Buffer
	testkit.NoError(t, r.Write(&file))
	return testkit.Must(Read(&file))(t)
}

// TestRecordAndReplay records a program and repeats it: as it was, and with answers that no server gives.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	config := startUp(t)
	proxy, through := startProxy(t, config)
	runProgram(t, through)
	recording := testkit.Must(proxy.Recording(Header{Program: "program"}, through.Host))(t)
	recording = copied(t, recording)
	checkRecording(t, recording)
	if t.Failed() {
		return
	}
	clean(t, config)
	if found := replayed(t, config, recording, patience); len(found) > 0 {
		t.Errorf("the recording as it is: %v", found)
	}
	for name, c := range breakages() {
		broken := copied(t, recording)
		c.change(t, broken)
		if found := strings.Join(replayed(t, config, broken, 5*time.Second), "\n"); !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %s", name, found, c.want)
		}
	}
}

func checkRecording(t *testing.T, recording *Recording) {
	t.Helper()
	var file bytes.Buffer
	testkit.NoError(t, recording.Write(&file))
	for _, word := range []string{"127.0.0.1", "localhost", "Bearer", "Authorization", "/api/v1/"} {
		if strings.Contains(file.String(), word) {
			t.Errorf("the recording has %q:\n%s", word, file.String())
		}
	}
	watch := find(t, recording, func(x Exchange) bool { return x.Request.watches() })
	if !watch.Response.Open || watch.Request.Header["User-Agent"] != "program/1.0" || !strings.HasPrefix(watch.Request.Header["Accept"], protobufType) {
		t.Errorf("the watch is recorded as %+v", watch)
	}
	var types []string
	for _, event := range watch.Response.Events {
		types = append(types, text(event, "type"))
	}
	if want := []string{"BOOKMARK", "ADDED", "MODIFIED", "ADDED", "MODIFIED", "DELETED"}; !slices.Equal(types, want) {
		t.Errorf("the watch had %v, want %v", types, want)
	}
}

// find returns the first exchange of some kind.
func find(t *testing.T, recording *Recording, wanted func(Exchange) bool) *Exchange {
	t.Helper()
	i := slices.IndexFunc(recording.Exchanges, wanted)
	if i < 0 {
		t.Fatalf("the recording has no such exchange: %+v", recording.Exchanges)
	}
	return &recording.Exchanges[i]
}

// replayed returns what a replay finds, and leaves the server as it was.
func replayed(t *testing.T, config *rest.Config, recording *Recording, patience time.Duration) []string {
	t.Helper()
	replayer := testkit.Must(NewReplayer(config))(t)
	replayer.patience = patience
	differences, err := replayer.Replay(t.Context(), recording)
	var found []string
	for _, difference := range differences {
		found = append(found, difference.String())
	}
	if err != nil {
		found = append(found, err.Error())
	}
	clean(t, config)
	return found
}

// clean deletes all reports.
func clean(t *testing.T, config *rest.Config) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	testkit.NoError(t, client.Resource(reports).Namespace("a").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

type breakage struct {
	change func(*testing.T, *Recording)
	want   string
}

// breakages are changes of a recording, and what a replay must say of each.
func breakages() map[string]breakage {
	is := func(method string, status int) func(Exchange) bool {
		return func(x Exchange) bool { return x.Request.Method == method && x.Response.Status == status }
	}
	body := func(t *testing.T, r *Recording, wanted func(Exchange) bool) map[string]any {
		t.Helper()
		fields, ok := find(t, r, wanted).Response.Body.(map[string]any)
		if !ok {
			t.Fatal("the body is no object")
		}
		return fields
	}
	watch := func(t *testing.T, r *Recording) *Response {
		t.Helper()
		return &find(t, r, func(x Exchange) bool { return x.Request.watches() }).Response
	}
	return map[string]breakage{
		"status": {func(t *testing.T, r *Recording) { find(t, r, is(http.MethodPost, 201)).Response.Status = 202 }, "status: want 202, got 201"},
		"reason": {func(t *testing.T, r *Recording) { body(t, r, is(http.MethodPut, 409))["reason"] = "Gone" }, `body.reason: want "Gone", got "Conflict"`},
		"a field more": {func(t *testing.T, r *Recording) { body(t, r, is(http.MethodPost, 201))["scope"] = map[string]any{} },
			"body.scope: want {}, got nothing"},
		"a field less": {func(t *testing.T, r *Recording) { delete(body(t, r, is(http.MethodPost, 201)), "summary") },
			`body.summary: want nothing, got {"pass":1}`},
		"a write that changed nothing": {func(t *testing.T, r *Recording) {
			metadata, ok := body(t, r, is(http.MethodPut, 200))["metadata"].(map[string]any)
			if !ok {
				t.Fatal("there is no metadata")
			}
			metadata["resourceVersion"] = "$rv99"
		}, `body.metadata.resourceVersion: want "$rv99"`},
		"a header": {func(t *testing.T, r *Recording) {
			find(t, r, is(http.MethodPost, 201)).Response.Header["Warning"] = "w"
		}, `Warning: want "w", got ""`},
		"type of body": {func(t *testing.T, r *Recording) { watch(t, r).Header["Content-Type"] = "text/plain" }, `Content-Type: want "text/plain"`},
		"an event more than recorded": {func(t *testing.T, r *Recording) {
			w := watch(t, r)
			w.Events = w.Events[:len(w.Events)-1]
		}, "events[5]: want nothing, got"},
		"an event less than recorded": {func(t *testing.T, r *Recording) {
			w := watch(t, r)
			w.Events = append(w.Events, w.Events[0])
		}, "event 7 of 7: no event has come"},
		"events in another order": {func(t *testing.T, r *Recording) {
			w := watch(t, r)
			w.Events[3], w.Events[4] = w.Events[4], w.Events[3]
		}, `events[3].type: want "MODIFIED", got "ADDED"`},
		"a version from nowhere": {func(t *testing.T, r *Recording) {
			find(t, r, is(http.MethodGet, 404)).Request.Query = map[string][]string{"resourceVersion": {"$listrv99"}}
		}, "the request has $listrv99, which no answer before it has given"},
		"a request that is missing": {func(_ *testing.T, r *Recording) {
			r.Exchanges = slices.DeleteFunc(r.Exchanges, is(http.MethodDelete, 200))
		}, "no event has come"},
	}
}
