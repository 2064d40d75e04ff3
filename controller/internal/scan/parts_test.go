// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func testPod(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	o := &unstructured.Unstructured{}
	testkit.NoError(tb, o.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "5", "labels": {"a": "b"}, "annotations": {"c": "d"}},
		"spec": {"nodeName": "x", "priority": 7, "containers": [{"name": "main", "image": "i"}]}, "status": {"phase": "Running"}}`)))
	return o
}

// TestPackHash: what changes it, and what doesn't.
func TestPackHash(t *testing.T) {
	t.Parallel()
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				t.Error(err)
			}
		}
	}
	for name, test := range map[string]struct {
		change          func(*unstructured.Unstructured)
		content, status bool
	}{
		"nothing":          {func(*unstructured.Unstructured) {}, false, false},
		"label":            {set("x", "metadata", "labels", "a"), true, false},
		"annotation":       {set("x", "metadata", "annotations", "a"), true, false},
		"spec":             {set(int64(8), "spec", "priority"), true, false},
		"new field":        {set("x", "data", "a"), true, false},
		"status":           {set("Failed", "status", "phase"), false, true},
		"node":             {set("y", "spec", "nodeName"), false, false},
		"resource version": {set("6", "metadata", "resourceVersion"), false, false},
		"finalizers":       {set([]any{"a"}, "metadata", "finalizers"), false, false},
		"managed fields":   {set([]any{map[string]any{"manager": "a"}}, "metadata", "managedFields"), false, false},
		"last applied":     {set("{}", "metadata", "annotations", policy.LastApplied), false, false},
	} {
		before := testkit.Must(pack(testPod(t), detailAll, &codecOf{}))(t)
		changed := testPod(t)
		test.change(changed)
		after := testkit.Must(pack(changed, detailAll, &codecOf{}))(t)
		if content, status := after.content != before.content, after.status != before.status; content != test.content || status != test.status {
			t.Errorf("%s: content differs %v, status differs %v", name, content, status)
		}
	}
}

// TestPackRoundTrip: policies see the object, except fields that are never kept, and the status if nobody reads it;
// whether it is compressed or not.
func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	var codecs codecOf
	packs := 0
	for i := range dictionaryAfter + 3 {
		for _, d := range []detail{detailAll, detailNoStatus} {
			want, object := testPod(t), testPod(t)
			for _, o := range []*unstructured.Unstructured{want, object} {
				o.SetName(fmt.Sprint("pod-", i))
				o.Object["status"] = map[string]any{"phase": "Running"}
			}
			if d == detailNoStatus {
				delete(want.Object, "status")
			}
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a"}})
			object.SetAnnotations(map[string]string{"c": "d", policy.LastApplied: "{}"})
			p := testkit.Must(pack(object, d, &codecs))(t)
			if packs++; packs >= dictionaryAfter != (p.codec != nil) {
				t.Fatalf("object %d is compressed: %v", packs, p.codec != nil)
			}
			got := testkit.Must(p.unpack())(t)
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Error(diff)
			}
		}
	}
	p, err := pack(testPod(t), detailNone, &codecs)
	if err != nil || p.data != nil {
		t.Errorf("without data: %s, %v", p.data, err)
	}
}

// TestUnknownResultsStay: results about what could not be listed are kept by PruneUnseen.
func TestUnknownResultsStay(t *testing.T) {
	t.Parallel()
	rest := &unknown{
		policyKinds:  map[string]bool{"Policy": true},
		subjectKinds: map[schema.GroupKind]bool{{Kind: "Secret"}: true},
		groups:       map[string]bool{"scale": true},
		known:        map[schema.GroupKind]bool{{Group: "scale", Kind: "Scaler"}: true},
	}
	for name, test := range map[string]struct {
		policyKind string
		subject    policy.Reference
		want       bool
	}{
		"known":                      {"ClusterPolicy", policy.Reference{APIVersion: "v1", Kind: "Pod"}, false},
		"policy not listed":          {"Policy", policy.Reference{APIVersion: "v1", Kind: "Pod"}, true},
		"subject not listed":         {"ClusterPolicy", policy.Reference{APIVersion: "v1", Kind: "Secret"}, true},
		"another group":              {"ClusterPolicy", policy.Reference{APIVersion: "a/v1", Kind: "Secret"}, false},
		"group that did not answer":  {"ClusterPolicy", policy.Reference{APIVersion: "scale/v1", Kind: "Other"}, true},
		"known before it failed":     {"ClusterPolicy", policy.Reference{APIVersion: "scale/v1", Kind: "Scaler"}, false},
		"version that can't be read": {"ClusterPolicy", policy.Reference{APIVersion: "a/b/c", Kind: "Pod"}, false},
	} {
		if got := rest.has(policy.Identity{Kind: test.policyKind, Name: "p"}, test.subject); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if rest.String() == "" || (&unknown{}).String() != "" {
		t.Errorf("%q, %q", rest, &unknown{})
	}
}

// TestEventsAreBounded: failures are gathered, and told once in a pause.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	var f failures
	start := time.Unix(1000, 0)
	const pause = time.Minute
	at := func(after time.Duration) int {
		count, _, _ := f.take(start.Add(after), pause)
		return count
	}
	for i := range 5 {
		f.add(policy.Reference{Name: string(rune('a' + i))}, start)
	}
	if n := at(time.Second); n != 0 {
		t.Errorf("%d at once", n)
	}
	if n := at(eventGather); n != 5 {
		t.Errorf("%d after the time to gather", n)
	}
	f.add(policy.Reference{Name: "z"}, start.Add(eventGather))
	if n := at(3 * eventGather); n != 0 {
		t.Errorf("%d before the pause is over", n)
	}
	if n := at(eventGather + pause); n != 1 {
		t.Errorf("%d after the pause", n)
	}
	if n := at(time.Hour); n != 0 {
		t.Errorf("%d without a failure", n)
	}
}

// TestConfigErrors: each field that is wrong is named.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Workers: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Client", "Served", "Policies", "Results", "Workers"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is missing in %q", field, err)
		}
	}
}
