// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// texts returns what objects have in their spec and data, or in their status.
func texts(t *testing.T, objects []*unstructured.Unstructured, name string) []string {
	t.Helper()
	var all []string
	for _, object := range objects {
		part := &unstructured.Unstructured{Object: map[string]any{"x": object.Object[name]}}
		all = append(all, strings.TrimPrefix(strings.Join(strings.Fields(fieldsOf(t, part)), " "), "x: "))
	}
	return all
}

func TestContentChanges(t *testing.T) {
	for _, test := range []struct {
		name, spec, before string
		want               []string
	}{
		{
			"descriptions first", `{type: object, properties: {color: {type: string}, count: {type: integer}, description: {type: string}, active: {type: boolean}}}`, `{color: red, count: 1, description: A thing., active: true}`,
			[]string{
				`active: true color: red count: 1 description: A thing. (changed)`, `active: true color: red-1 count: 1 description: A thing.`,
				`active: false color: red count: 1 description: A thing.`, `active: true color: red count: 2 description: A thing.`,
			},
		},
		{
			"what is missing", `{type: object, properties: {note: {type: string}, level: {type: integer}, mode: {type: string, enum: [a, b]}, data: {type: object, additionalProperties: {type: string}}}}`, `{}`,
			[]string{`note: conformance`, `data: conformance: conformance`, `level: 1`, `mode: a`},
		},
		{
			"nothing is started", `{type: object, properties: {replicas: {type: integer}, suspend: {type: boolean}, maxReplicas: {type: integer}}}`, `{replicas: 0, suspend: true}`, nil,
		},
		{
			"limits", `{type: object, properties: {a: {type: integer, maximum: 3}, b: {type: string, enum: [x]}, c: {type: integer, minimum: 1, maximum: 1}, d: {type: string, maxLength: 3}}}`, `{a: 3, b: x, c: 1, d: abc}`,
			[]string{`a: 3 b: x c: 1 d: a`, `a: 2 b: x c: 1 d: abc`},
		},
		{
			"items", `{type: array, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}, color: {type: string}}}}`, `[{name: first, color: red}]`,
			[]string{`- color: red-1 name: first`},
		},
		{
			"what a rule compares comes last", `{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}, active: {type: boolean}}}`, `{a: x, active: true}`,
			[]string{`a: x active: false`, `a: x-1 active: true`},
		},
		{"free objects", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{conformance: checked}`, []string{`conformance: checked-1`, `conformance: conformance`}},
		{"missing objects", `{type: object, properties: {a: {type: object, required: [b], properties: {b: {type: string}}}, c: {type: object, properties: {d: {type: integer}}}, e: {type: array, items: {type: string}}}}`, `{}`, []string{
			`a: b: conformance`, `e: - conformance`, `c: d: 1`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			schemas := schemasOf(t, "spec: "+test.spec+"\nstatus: {type: object, properties: {message: {type: string}}}")
			object := thing(t, "{metadata: {name: x, labels: {a: b}}, spec: "+test.before+", status: {message: x}}")
			before := object.DeepCopy()
			changes := NewMaker(things, schemas, nil).ContentChanges(object)
			if test.name == "free objects" {
				changes = changes[:1]
				test.want = test.want[:1]
			}
			if diff := cmp.Diff(test.want, texts(t, changes, "spec")); diff != "" {
				t.Error(diff)
			}
			testkit.NoDiff(t, cmp.Diff(before.Object, object.Object), "the object itself is changed")
			for _, change := range changes {
				if differences := schemas.Differences(change); len(differences) > 0 {
					t.Errorf("%v: %q", change.Object, differences)
				}
				change.Object["spec"] = before.Object["spec"]
				testkit.NoDiff(t, cmp.Diff(before.Object, change.Object), "more than the spec is changed")
			}
		})
	}
}

// TestChangesWithoutSchema: what an object has can still be changed.
func TestChangesWithoutSchema(t *testing.T) {
	maker := NewMaker(things, nil, nil)
	object := thing(t, `{data: {a: x}, spec: {when: "2026-01-01T00:00:00Z", length: 5m, size: 10Gi, share: 50%, active: "true", number: "7", list: [a], replicas: 1}, status: {phase: Ready}}`)
	got := map[string]bool{}
	for _, change := range maker.ContentChanges(object) {
		for _, name := range []string{"data", "spec"} {
			got[name+": "+texts(t, []*unstructured.Unstructured{change}, name)[0]] = true
		}
	}
	for _, part := range []string{
		"data: a: x-1", "data: a: x conformance: checked", "when: \"2026-01-01T00:00:01Z\"", "length: 5m1s", "size: 11Gi", "share: 51%", "active: \"false\"", "number: \"8\"", "list: - a-1",
	} {
		found := false
		for text := range got {
			found = found || strings.Contains(text, part)
		}
		if !found {
			t.Errorf("no change has %s: %v", part, sortedKeys(got))
		}
	}
	if got := texts(t, maker.StatusChanges(object), "status"); len(got) != 2 || got[1] != "phase: Ready-1" {
		t.Errorf("the changes of the status are %q", got)
	}
	if got := NewMaker(things, nil, nil).StatusChanges(thing(t, "{}")); len(got) != 1 || !strings.Contains(texts(t, got, "status")[0], "type: Conformance") {
		t.Errorf("the changes of a missing status are %v", got)
	}
}

func TestStatusChanges(t *testing.T) {
	const conditions = `conditions: {type: array, items: {type: object, required: [type, status, lastTransitionTime, reason, message, severity], properties: {type: {type: string}, status: {type: string, enum: ["True", "False", Unknown]}, lastTransitionTime: {type: string, format: date-time}, reason: {type: string}, message: {type: string}, severity: {type: string, enum: [Low]}}}}`
	schemas := schemasOf(t, "spec: {type: object}\nstatus: {type: object, required: [observedGeneration], properties: {"+conditions+", observedGeneration: {type: integer}, phase: {type: string}}}")
	maker := NewMaker(things, schemas, nil)
	object := thing(t, `{spec: {}, status: {conditions: [{type: Ready, status: "True"}]}}`)
	for _, message := range []string{"checked", "checked again", "checked"} {
		changes := maker.StatusChanges(object)
		if len(changes) != 3 {
			t.Fatalf("there are %d changes", len(changes))
		}
		for _, change := range changes {
			if differences := schemas.Differences(change); len(differences) > 0 {
				t.Errorf("%v: %q", change.Object, differences)
			}
		}
		object = changes[0]
		list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		if len(list) != 2 {
			t.Fatalf("the conditions are %v", list)
		}
		condition := list[1].(map[string]any)
		delete(condition, "lastTransitionTime")
		want := map[string]any{"type": "Conformance", "status": "True", "reason": "Checked", "message": message, "severity": "Low"}
		if diff := cmp.Diff(want, condition); diff != "" {
			t.Error(diff)
		}
		if generation, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); generation != 1 {
			t.Errorf("the observed generation is %d", generation)
		}
	}
	none := NewMaker(things, schemasOf(t, "spec: {type: object}"), nil)
	if changes := none.StatusChanges(thing(t, "{spec: {}}")); len(changes) != 0 {
		t.Errorf("without a status in the schema there are %d changes", len(changes))
	}
	open, err := ReadSchemas([]byte(`{"components":{"schemas":{"T":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Thing"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, NewMaker(things, open, nil).StatusChanges(thing(t, "{}")), "status"); len(got) != 1 || got[0] != "conformance: checked" {
		t.Errorf("the changes of an open kind are %q", got)
	}
}

func TestKnownChanges(t *testing.T) {
	maker := NewMaker(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, nil, nil)
	object := maker.New()
	for range 3 {
		changes := maker.ContentChanges(object)
		if len(changes) == 0 {
			t.Fatal("there are no changes")
		}
		if same(object.Object, changes[0].Object) {
			t.Error("a change changes nothing")
		}
		object = changes[0]
	}
	if changes := NewMaker(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, nil, nil).ContentChanges(thing(t, "{spec: {finalizers: [kubernetes]}}")); len(changes) > 0 {
		t.Errorf("a namespace would become %v", changes[0])
	}
}

func TestMerge(t *testing.T) {
	object := map[string]any{"a": map[string]any{"b": "c", "d": float64(1)}, "e": "f"}
	if merge(object, map[string]any{"a": map[string]any{"d": int64(1), "g": nil}}) {
		t.Error("nothing has changed")
	}
	if !merge(object, map[string]any{"a": map[string]any{"b": nil}, "h": map[string]any{"i": []any{"j"}}}) {
		t.Error("something has changed")
	}
	want := map[string]any{"a": map[string]any{"d": int64(1)}, "e": "f", "h": map[string]any{"i": []any{"j"}}}
	if diff := cmp.Diff(want, object); diff != "" {
		t.Error(diff)
	}
}
