// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// item says something about a pod.
func item(policyName, namespace, name string, results ...policy.Result) Item {
	return Item{
		Presentation: policy.Presentation{Source: "fake", Category: "tests", Severity: report.SeverityHigh, Scored: true},
		Admitted: policy.Admitted{
			Policy: policy.Identity{Kind: policy.ClusterPolicy, Name: policyName}, Fingerprint: "print",
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
			Subject:  policy.Reference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)},
			Content:  policy.Content{1, 2, 3}, Results: results, Time: start,
		},
	}
}

func fails(rule string) policy.Result {
	return policy.Result{Rule: rule, Outcome: report.OutcomeFail, Message: "no: \"" + rule + "\"", Properties: map[string]string{"a": "b"}}
}

// TestRoundTrip: what one side writes the other reads, and people can.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	namespaced := item("c", "default", "x", fails("r"), policy.Result{Rule: "s", Outcome: report.OutcomePass})
	namespaced.Policy = policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "default", Name: "c"}
	items := []Item{item("a", "default", "x", fails("r")), item("b", "default", "x"), namespaced}
	items[1].Deleted = true
	objects, left := encode(items)
	if len(objects) != 1 || left != 0 {
		t.Fatalf("%d objects, %d items left", len(objects), left)
	}
	o := objects[0]
	got := testkit.Must(decode(o, start))(t)
	want := []policy.Admitted{items[0].Admitted, items[1].Admitted, items[2].Admitted}
	testkit.NoDiff(t, cmp.Diff(want, got), "read is something else (-want +got)")
	if o.GetKind() != "EphemeralReport" || o.GetNamespace() != "default" || o.GetLabels()[managedByLabel] != "docket-controller" ||
		o.GetLabels()[sourceLabel] != "fake" || o.GetLabels()[kindLabel] != "Pod" || o.GetAnnotations()[nameAnnotation] != "x" {
		t.Errorf("the metadata are %v", o.Object["metadata"])
	}
	if failed, _, _ := unstructured.NestedInt64(o.Object, "spec", "summary", "fail"); failed != 2 {
		t.Errorf("the summary has %d failures", failed)
	}
	for _, label := range []string{"audit.kyverno.io/resource.uid", "audit.kyverno.io/resource.gvr"} {
		if _, ok := o.GetLabels()[label]; ok || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("Kyverno or the garbage collector would take it: %v", o.Object["metadata"])
		}
	}

	cluster := item("a", "", "x", fails("r"))
	objects, _ = encode([]Item{cluster})
	if got, err := decode(objects[0], start); err != nil || objects[0].GetKind() != "ClusterEphemeralReport" || !cmp.Equal(got, []policy.Admitted{cluster.Admitted}) {
		t.Errorf("of a cluster-scoped subject: %v, %v", got, err)
	}
}

// TestReportsAreBounded, and nothing that fits is lost.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	var items []Item
	for i := range 2*maxPolicies + 1 {
		items = append(items, item(fmt.Sprint("p", i), "default", "x", fails("r")))
	}
	long := policy.Result{Rule: strings.Repeat("r", 1<<20), Outcome: report.OutcomeFail, Message: strings.Repeat("ä\xff", 1<<20), Properties: map[string]string{}}
	for i := range 100 {
		long.Properties[fmt.Sprint(i)] = strings.Repeat("x", 1<<20)
	}
	many := make([]policy.Result, 1000)
	for i := range many {
		many[i] = fails(strings.Repeat("r", 1000))
	}
	items = append(items, item("long", "default", "x", long), item("many", "default", "x", many...))
	other := item("other", "default", "x", fails("r"))
	other.Resource.Version = "v2"
	objects, left := encode(append(items, other))
	if left != 1 || len(objects) < 4 {
		t.Errorf("%d objects, %d items left", len(objects), left)
	}
	found := 0
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil || len(data) > 2*maxBytes {
			t.Errorf("a report has %d bytes, %v", len(data), err)
		}
		got, err := decode(o, start)
		if o.GetLabels()[versionLabel] == "v2" {
			if err != nil && !strings.Contains(err.Error(), "version") {
				t.Error(err)
			}
			found++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found += len(got)
	}
	if found != 2*maxPolicies+3 {
		t.Errorf("%d items are read", found)
	}
	if long.Message[:4] != "ä\xffä"[:4] || len(long.Properties["1"]) != 1<<20 {
		t.Error("shared results were changed")
	}
}

// TestDecodeTakesNothingOnTrust: each thing that is wrong is said.
func TestDecodeTakesNothingOnTrust(t *testing.T) {
	t.Parallel()
	note := func(old, now string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			text := o.GetAnnotations()[AdmittedAnnotation]
			if !strings.Contains(text, old) {
				panic(text)
			}
			annotations := o.GetAnnotations()
			annotations[AdmittedAnnotation] = strings.Replace(text, old, now, 1)
			o.SetAnnotations(annotations)
		}
	}
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				panic(err)
			}
		}
	}
	result := func(key string, value any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			results, _, _ := unstructured.NestedSlice(o.Object, "spec", "results")
			results[0].(map[string]any)[key] = value
			if err := unstructured.SetNestedSlice(o.Object, results, "spec", "results"); err != nil {
				panic(err)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*unstructured.Unstructured)
		cause  string
	}{
		"no spec":          {func(o *unstructured.Unstructured) { delete(o.Object, "spec") }, "spec"},
		"unknown field":    {set("x", "spec", "more"), "more"},
		"no annotation":    {func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, AdmittedAnnotation},
		"not JSON":         {note("{", "["), AdmittedAnnotation},
		"unknown key":      {note(`"version"`, `"more":1,"version"`), "more"},
		"something after":  {note(`]}`, `]}{}`), "after"},
		"other version":    {note(`"version":1`, `"version":2`), "version 2"},
		"no resource":      {note(`"resource":"pods"`, `"resource":""`), "resource"},
		"other group":      {note(`"version":1`, `"version":1,"group":"apps"`), "group"},
		"no policy":        {note(`ClusterPolicy/a`, `a`), "kind/name"},
		"other policy":     {note(`ClusterPolicy/a`, `ClusterPolicy/b`), `policy "a"`},
		"content":          {note(`"content":"01`, `"content":"`), "content"},
		"no fingerprint":   {note(`"print"`, `""`), "fingerprint"},
		"tomorrow":         {note("2026-11-21", "2026-11-22"), "to come"},
		"no time":          {note("2026-11-21T12:00:00.123456789Z", "0001-01-01T00:00:00Z"), "missing"},
		"too many results": {note(`"results":1`, `"results":2`), "2 results"},
		"too few results":  {note(`"results":1`, `"results":0`), "no policy"},
		"negative":         {note(`"results":1`, `"results":-1`), "-1 results"},
		"no owner":         {func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "owner") }, "owner"},
		"no uid":           {set("", "spec", "owner", "uid"), "uid"},
		"bad version":      {set("a/b/c", "spec", "owner", "apiVersion"), "owner"},
		"outcome":          {result("result", "great"), "great"},
		"result's policy":  {result("policy", "z"), `"z"`},
	} {
		objects, _ := encode([]Item{item("a", "default", "x", fails("r"))})
		test.change(objects[0])
		if got, err := decode(objects[0], start); err == nil || !strings.Contains(err.Error(), test.cause) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	// A report can only be about its own namespace.
	objects, _ := encode([]Item{item("a", "default", "x", fails("r"))})
	objects[0].SetNamespace("mine")
	if got, err := decode(objects[0], start); err != nil || got[0].Subject.Namespace != "mine" {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	objects, _ := encode([]Item{item("a", "default", "x", fails("r")), item("b", "default", "x")})
	data := testkit.Must(objects[0].MarshalJSON())(f)
	f.Add(data)
	f.Add([]byte(`{"apiVersion":"reports.kyverno.io/v1","kind":"EphemeralReport","spec":{"owner":null,"results":[null]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o unstructured.Unstructured
		if o.UnmarshalJSON(data) != nil {
			return
		}
		items, err := decode(&o, start)
		if err != nil {
			return
		}
		if len(items) == 0 {
			t.Error("a report about nothing is taken")
		}
		for _, i := range items {
			if i.Subject.UID == "" || i.Subject.Namespace != o.GetNamespace() || i.Policy.Name == "" || i.Time.After(start.Add(maxAhead)) {
				t.Errorf("taken is %+v", i)
			}
		}
	})
}
