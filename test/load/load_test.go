// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// flags of a quick run against url.
func flags(url string, more ...string) []string {
	return append([]string{
		"--server=" + url, "--objects=40", "--namespaces=3", "--clients=4", "--results=2", "--repeat=2",
		"--page-size=15", "--selector-size=2", "--watchers=3", "--watch-rate=200", "--duration=100ms",
		"--idle-watchers=5", "--output=json",
	}, more...)
}

func measure(t *testing.T, arguments ...string) (map[string]result, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), arguments, &out, io.Discard)
	var results []result
	if jsonErr := json.Unmarshal(out.Bytes(), &results); jsonErr != nil {
		t.Fatalf("no results: %v (%v)", jsonErr, err)
	}
	byPhase := map[string]result{}
	for _, r := range results {
		byPhase[r.Phase] = r
	}
	return byPhase, err
}

func TestAllPhases(t *testing.T) {
	t.Parallel()
	server := &fakeServer{}
	results := testkit.Must(measure(t, flags(server.start(t), "--phases="+strings.Join(phaseNames(), ","))...))(t)
	got := map[string]int{}
	for phase, r := range results {
		got[phase] = r.Operations
	}
	want := map[string]int{
		"create": 40, "update": 40, "rewrite": 40, "get": 40, "list": 2, "pages": 6, "selector": 20,
		"watch": 60, "idle-watch": 5, "delete": 40, "check": 1,
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "operations (-want +got)")
	if len(server.canned.objects) != 0 {
		t.Errorf("%d objects are left", len(server.canned.objects))
	}
}

// TestRewrite: a rewritten object is the same one with other results, of the revision that was read.
func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.Kinds() {
		b := newBodies(&options{kind: kind, results: 3, namespaces: 4, groupSize: 5})
		var before, after unstructured.Unstructured
		for object, body := range map[*unstructured.Unstructured][]byte{
			&before: b.body(5, time.Now(), nil), &after: setRevision(b.bodyLike(5, 6, time.Now(), nil), "12"),
		} {
			testkit.NoError(t, object.UnmarshalJSON(body))
		}
		if after.GetName() != before.GetName() || after.GetNamespace() != before.GetNamespace() || after.GetResourceVersion() != "12" {
			t.Errorf("%s became %v", kind.Kind, after.Object["metadata"])
		}
		if cmp.Equal(contentOf(before), contentOf(after)) {
			t.Errorf("%s has the same results", kind.Kind)
		}
	}
}

// contentOf is an object without its metadata.
func contentOf(object unstructured.Unstructured) map[string]any {
	content := maps.Clone(object.Object)
	delete(content, "metadata")
	return content
}

// TestWatchOneNamespace: a watch of one namespace waits for what is written there.
func TestWatchOneNamespace(t *testing.T) {
	t.Parallel()
	server := &fakeServer{}
	results := testkit.Must(measure(t, flags(server.start(t), "--phases=create,watch", "--watch-one-namespace", "--watchers=6")...))(t)
	if got := results["watch"].Operations; got != 40 {
		t.Errorf("%d events, want 20 writes seen by the two watchers of their namespace", got)
	}
}

func TestKeepLeavesObjectsForTheNextRun(t *testing.T) {
	t.Parallel()
	server := &fakeServer{}
	url := server.start(t)
	testkit.Must(measure(t, flags(url, "--keep", "--phases=create,delete")...))(t)
	if len(server.canned.objects) != 40 {
		t.Fatalf("%d objects were kept, want 40", len(server.canned.objects))
	}
	if _, err := measure(t, flags(url, "--phases=get,delete")...); err != nil {
		t.Error(err)
	}
}

func TestWrongAnswersAreFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		server fakeServer
		phases string
		want   map[string]int // failures of the last phase
	}{
		{"short list", fakeServer{dropFromLists: 1}, "create,list", map[string]int{"wrong answer": 2}},
		{"short pages", fakeServer{dropFromLists: 1}, "create,pages", map[string]int{"wrong answer": 2}},
		{"short selection", fakeServer{dropFromLists: 1}, "create,selector", map[string]int{"wrong answer": 20}},
		{"event twice", fakeServer{repeatEvents: true}, "create,watch", nil},
		{"status", fakeServer{failMethod: "PUT"}, "create,update", map[string]int{"500 Internal Server Error": 40}},
		{"missing objects", fakeServer{}, "get", map[string]int{"404 Not Found": 40}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			results, err := measure(t, flags(test.server.start(t), "--phases="+test.phases)...)
			if err == nil || !strings.Contains(err.Error(), "failure(s)") {
				t.Fatalf("got the error %v, want one about failures", err)
			}
			phases := strings.Split(test.phases, ",")
			got := results[phases[len(phases)-1]].Errors
			if test.want == nil && len(got) == 0 {
				t.Error("no failure in the results")
			} else if test.want != nil && !cmp.Equal(test.want, got) {
				t.Errorf("failures (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}

// TestOthersAreNoticed: a run fails if somebody else has changed, deleted or replaced an object at its end, or between
// two of its own requests.
func TestOthersAreNoticed(t *testing.T) {
	t.Parallel()
	change := func(c *canned, p place) {
		data := bytes.Clone(c.objects[p].data)
		if err := setSent(data, time.Unix(0, 1)); err != nil {
			t.Error(err)
		}
		c.objects[p] = cannedObject{data, c.objects[p].subject}
	}
	for name, disturb := range map[string]func(*canned, place){"changed": change, "deleted": (*canned).remove} {
		for _, test := range []struct{ phases, failed string }{{"create,get", "check"}, {"create,selector,get", "get"}, {"create,selector,update", "update"}} {
			t.Run(name+" in "+test.failed, func(t *testing.T) {
				t.Parallel()
				server := &fakeServer{disturb: disturb}
				results, err := measure(t, flags(server.start(t), "--phases="+test.phases, "--selector-size=40")...)
				if err == nil || countFailures([]result{results[test.failed]}) != 1 {
					t.Errorf("%v: failures %v", err, results[test.failed].Errors)
				}
			})
		}
	}
}

func TestLostEventsAreMissed(t *testing.T) {
	t.Parallel()
	s := newSightings()
	r := newRecorder()
	event := func(sent int64) []byte { return appendSent(sentKey(), time.Unix(0, sent)) }
	for _, sent := range []int64{1, 3} {
		testkit.NoError(t, s.add(event(sent), r))
	}
	if missing := s.wait(t.Context(), []int64{1, 3}); missing != 0 {
		t.Errorf("%d missing, want 0", missing)
	}
	go func() { _ = s.add(event(2), r) }()
	if missing := s.wait(t.Context(), []int64{1, 2, 3}); missing != 0 {
		t.Errorf("%d missing after the late one, want 0", missing)
	}
	close(s.ended)
	if missing := s.wait(t.Context(), []int64{1, 4, 5}); missing != 2 {
		t.Errorf("%d missing when the watch ended, want 2", missing)
	}
	if err := s.add(event(3), r); err == nil {
		t.Error("a repeated event gave no error")
	}
}

func TestBodiesAreDifferentObjects(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.Kinds() {
		o := &options{kind: kind, results: 3, namespaces: 4, groupSize: 5, seed: 9}
		b := newBodies(o)
		names := map[string]bool{}
		for i := range 2 * variants {
			var object unstructured.Unstructured
			if err := object.UnmarshalJSON(b.body(i, time.Unix(0, 42), nil)); err != nil {
				t.Fatalf("%s %d: %v", kind.Kind, i, err)
			}
			names[object.GetName()] = true
			checkBody(t, b, i, &object)
		}
		if len(names) != 2*variants {
			t.Errorf("%s: %d names for %d objects", kind.Kind, len(names), 2*variants)
		}
	}
}

// TestFrom: objects of any kind are written in turn, each with a name of its own.
func TestFrom(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	testkit.NoError(t, os.WriteFile(file, []byte(`{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a, namespace: b}, spec: {size: 1}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a, namespace: b}, spec: {size: 2}}
`), 0o600))
	o := testkit.Must(parse([]string{"--from", file}, io.Discard))(t)
	b := newBodies(o)
	if path := b.path(1); path != "/apis/example.com/v1/namespaces/load-1-001/gadgets/"+b.name(1) {
		t.Error(path)
	}
	for i := range 3 {
		var object unstructured.Unstructured
		testkit.NoError(t, object.UnmarshalJSON(b.body(i, time.Unix(0, 42), nil)))
		if size, _, _ := unstructured.NestedInt64(object.Object, "spec", "size"); object.GetName() != b.name(i) || object.GetNamespace() != b.namespace(i) || size != int64(i%2+1) {
			t.Errorf("%d: %v", i, object.Object)
		}
	}
	for content, want := range map[string]string{
		"": "no object", "{": "--from", "{apiVersion: v1, kind: A}\n---\n{apiVersion: v1, kind: B}": "use one kind",
	} {
		testkit.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		if _, err := parse([]string{"--from", file}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// TestUniqueMessages: as many reports as asked for have messages that no other one has, in each kind.
func TestUniqueMessages(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.Kinds() {
		b := newBodies(&options{kind: kind, results: 3, namespaces: 4, groupSize: 5, unique: 40})
		reports := map[string]map[int]bool{} // by message
		for i := range 100 {
			for _, message := range messages(t, b.body(i, time.Time{}, nil)) {
				if reports[message] == nil {
					reports[message] = map[int]bool{}
				}
				reports[message][i] = true
			}
		}
		shared := map[int]bool{}
		for _, having := range reports {
			for i := range having {
				shared[i] = shared[i] || len(having) > 1
			}
		}
		unique := 0
		for _, is := range shared {
			if !is {
				unique++
			}
		}
		if unique != 40 {
			t.Errorf("%s: %d of 100 reports have messages of their own, want 40", kind.Kind, unique)
		}
	}
}

// TestVaried: sizes are as the help says, on average, too.
func TestVaried(t *testing.T) {
	t.Parallel()
	o := testkit.Must(parse([]string{"--varied"}, io.Discard))(t)
	b := newBodies(o)
	sizes := map[int]bool{}
	all := 0
	for i := range variants {
		size := len(messages(t, b.body(i, time.Time{}, nil)))
		sizes[size] = true
		all += size
	}
	if !sizes[1] || !sizes[200] || all/variants != 17 || o.unique != 50 {
		t.Errorf("sizes %v, %.1f on average, %d %% unique", sizes, float64(all)/variants, o.unique)
	}
}

// messages returns those of a report's results.
func messages(t *testing.T, body []byte) []string {
	t.Helper()
	type result struct{ Message string }
	var report struct {
		Results []result
		Spec    struct{ Results []result }
	}
	testkit.NoError(t, json.Unmarshal(body, &report))
	var all []string
	for _, result := range append(report.Results, report.Spec.Results...) {
		all = append(all, result.Message)
	}
	return all
}

func checkBody(t *testing.T, b *bodies, i int, object *unstructured.Unstructured) {
	t.Helper()
	namespace := ""
	if b.options.kind.Namespaced {
		namespace = b.namespace(i)
	}
	got := []string{
		object.GetKind(), object.GetName(), object.GetNamespace(),
		object.GetLabels()[subjectLabel], object.GetAnnotations()[sentAnnotation],
	}
	want := []string{b.options.kind.Kind, b.name(i), namespace, b.group(i), "00000000000000000042"}
	testkit.NoDiff(t, cmp.Diff(want, got), "object %d (-want +got)", i)
	if data, err := object.MarshalJSON(); err != nil || bytes.Contains(data, []byte("@@")) {
		t.Errorf("object %d has an empty slot (%v): %s", i, err, data)
	}
	if len(object.GetOwnerReferences()) > 0 {
		t.Errorf("object %d has an owner: a garbage collector would delete it", i)
	}
}

func TestSentIsReplacedInPlace(t *testing.T) {
	t.Parallel()
	o := &options{kind: sample.Kinds()[0], results: 1, namespaces: 1, groupSize: 1}
	body := newBodies(o).body(0, time.Unix(0, 1), nil)
	testkit.NoError(t, setSent(body, time.Unix(0, 2)))
	if nanos, ok := sentOf(body); !ok || nanos != 2 {
		t.Errorf("sentOf = %d, %v, want 2", nanos, ok)
	}
	if n := countObjects(body); n != 1 {
		t.Errorf("countObjects = %d, want 1", n)
	}
	if err := setSent([]byte(`{"kind":"Status"}`), time.Now()); err == nil {
		t.Error("setSent on another object gave no error")
	}
}

func TestContinueOf(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`{"metadata":{"continue":"abc","resourceVersion":"1"},"items":[]}`: "abc",
		`{"items":[{"metadata":{}}],"metadata":{"continue":"xyz"}}`:        "xyz",
		`{"items":[],"metadata":{"continue":""}}`:                          "",
		`{"items":[],"metadata":{}}`:                                       "",
	} {
		if got := continueOf([]byte(list)); got != want {
			t.Errorf("continueOf(%s) = %q, want %q", list, got, want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 50, 0},
		{[]time.Duration{7}, 0, 7},
		{[]time.Duration{7}, 99, 7},
		{[]time.Duration{1, 2}, 50, 1},
		{[]time.Duration{1, 2}, 51, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("percentile of %d values, %d = %d, want %d", len(test.sorted), test.p, got, test.want)
		}
	}
}

func TestParseNamesAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := parse([]string{
		"--kind=pods", "--objects=0", "--phases=fly", "--output=xml", "--server=http://x", "--kubeconfig=y", "--rate=-1", "--unique-messages=101",
	}, io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"--kind", "--objects=0", `"fly"`, "--output=xml", "--kubeconfig", "--rate", "--unique-messages=101"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %s:\n%v", want, err)
		}
	}
}

func TestHelpNamesThePhases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	testkit.NoError(t, run(t.Context(), []string{"--help"}, &out, io.Discard))
	if !strings.Contains(out.String(), "idle-watch, delete") || !strings.Contains(out.String(), "--watch-rate") {
		t.Errorf("help:\n%s", out.String())
	}
}
