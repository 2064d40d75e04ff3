// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// widgets is a kind that is no report.
func widgets() imports.Kind {
	return imports.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		Resource:         "widgets", Namespaced: true,
		Decode: func(data []byte) (imports.Object, []string, error) {
			object := &unstructured.Unstructured{}
			err := object.UnmarshalJSON(data)
			return object, nil, err
		},
	}
}

// memory is a place for one test.
type memory map[string]imports.Object

func (m memory) Get(_ context.Context, _ imports.Kind, namespace, name string) (imports.Object, error) {
	return m[namespace+"/"+name], nil
}

func (m memory) Create(_ context.Context, _ imports.Kind, object imports.Object) error {
	m[object.GetNamespace()+"/"+object.GetName()] = object
	return nil
}

func (m memory) Update(ctx context.Context, kind imports.Kind, _, object imports.Object) error {
	return m.Create(ctx, kind, object)
}

func (m memory) Delete(_ context.Context, _ imports.Kind, current imports.Object) error {
	delete(m, current.GetNamespace()+"/"+current.GetName())
	return nil
}

// TestAnyKind: objects of any kind are imported whole, with status, numbers and all metadata.
func TestAnyKind(t *testing.T) {
	t.Parallel()
	const object = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"ns","uid":"u","generation":7,
		"creationTimestamp":"2020-01-02T03:04:05Z","finalizers":["example.com/a"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"o"}]},
		"spec":{"ratio":0.25,"limit":9007199254740993,"list":[1,null,"x"]},"status":{"observedGeneration":7}}`
	kind, place := widgets(), memory{}
	importer := imports.New(place, []imports.Kind{kind}, imports.Exact, clock.RealClock{})
	item := imports.Item{Group: kind.Group, Resource: kind.Resource, Version: 5, Object: json.RawMessage(object)}
	for _, want := range []imports.Result{imports.Created, imports.Same} {
		outcome := importer.Import(t.Context(), imports.Request{Mode: imports.Tail, Items: []imports.Item{item}}).Outcomes[0]
		if outcome.Result != want {
			t.Fatalf("%+v, want %s", outcome, want)
		}
	}
	source, _ := testkit.Must2(kind.Decode([]byte(object)))(t)
	stored := place["ns/a"].DeepCopyObject().(*unstructured.Unstructured)
	if mark, ok := imports.ReadMark(stored.GetAnnotations()); !ok || mark.Version != 5 {
		t.Errorf("marked %+v", mark)
	}
	stored.SetAnnotations(nil)
	testkit.NoDiff(t, cmp.Diff(source, imports.Object(stored)), "imported (-source +stored)")
	other := importer.Import(t.Context(), imports.Request{Mode: imports.Tail, Items: []imports.Item{{Group: "example.com", Resource: "gadgets", Object: item.Object}}})
	if got := other.Outcomes[0]; got.Result != imports.Failed || got.Message == "" {
		t.Errorf("another kind: %+v", got)
	}
}

// TestFingerprintNumbers: numbers are compared as Kubernetes reads them, not as they are written.
func TestFingerprintNumbers(t *testing.T) {
	t.Parallel()
	of := func(number string) string {
		object, _ := testkit.Must2(widgets().Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","spec":{"n":0}}`)))(t)
		return testkit.Must(imports.Fingerprint(raw{object, []byte(`{"spec":{"n":` + number + `}}`)}, imports.Exact))(t)
	}
	for _, same := range [][]string{{"1", "1.0", "10e-1"}, {"0.25", "0.250", "25e-2"}, {"1e21", "1e+21"}} {
		for _, number := range same[1:] {
			if of(number) != of(same[0]) {
				t.Errorf("%s is not %s", number, same[0])
			}
		}
	}
	// Larger than what a float holds exactly.
	if of("9007199254740993") == of("9007199254740992") {
		t.Error("two integers have the same fingerprint")
	}
}

// raw is an object with the JSON of a test.
type raw struct {
	imports.Object

	data []byte
}

func (r raw) MarshalJSON() ([]byte, error) { return r.data, nil }
