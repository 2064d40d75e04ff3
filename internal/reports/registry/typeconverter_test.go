// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/results"
)

// TestRoutesHaveAllParts: a field that a newer library has must be set as it sets it.
func TestRoutesHaveAllParts(t *testing.T) {
	t.Parallel()
	var got []string
	for field := range reflect.TypeFor[endpoints.APIGroupVersion]().Fields() {
		got = append(got, field.Name)
	}
	want := []string{
		"Storage", "Root", "GroupVersion", "AllServedVersionsByResource", "OptionsExternalVersion", "MetaGroupVersion", "Serializer",
		"ParameterCodec", "Typer", "Creater", "Convertor", "ConvertabilityChecker", "Defaulter", "Namer", "UnsafeConvertor",
		"TypeConverter", "EquivalentResourceRegistry", "Authorizer", "Admit", "MinRequestTimeout", "MaxRequestBodyBytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of APIGroupVersion; compare group.routes with newAPIGroupVersion and installAPIResources of the library (-known +now):\n%s", diff)
	}
}

// managers keep the managed fields of one kind, by the library's way and by ours.
type managers struct {
	kind          Kind
	library, ours *managedfields.FieldManager
	random        *rand.Rand
}

// TestManagedFields: for any create, update and apply, by anybody, the managed fields and
// the resulting objects equal the library's.
func TestManagedFields(t *testing.T) {
	t.Parallel()
	const rounds, steps = 8, 20
	models := testModels(t)
	for i, kind := range Kinds() {
		t.Run(kind.GroupResource().String(), func(t *testing.T) {
			t.Parallel()
			m := newManagers(t, kind, models, uint64(i))
			for round := range rounds {
				live := m.update(t, m.empty(t), m.content(t, round), "creator")
				for range steps {
					live = m.step(t, live, round)
				}
			}
		})
	}
}

// testModels returns the OpenAPI models of all kinds.
func testModels(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	return newDefinitions(t)
}

func newManagers(t *testing.T, kind Kind, models map[string]*spec.Schema, seed uint64) *managers {
	t.Helper()
	library := testkit.Must(managedfields.NewTypeConverter(models, false))(t)
	ours := testkit.Must(document.NewTypeConverter(library, kind.New()))(t)
	scheme := newTestTypes()
	hub := schema.GroupVersion{Group: kind.GroupVersionKind.Group, Version: runtime.APIVersionInternal}
	manager := func(converter managedfields.TypeConverter) *managedfields.FieldManager {
		made := testkit.Must(managedfields.NewDefaultFieldManager(
			converter, scheme, scheme, scheme, kind.GroupVersionKind, hub, "", nil))(t)
		return made
	}
	return &managers{kind: kind, random: rand.New(rand.NewPCG(seed, 1)), library: manager(library), ours: manager(ours)}
}

// step changes live in some way by some manager, and returns what is stored then.
func (m *managers) step(t *testing.T, live []byte, round int) []byte {
	t.Helper()
	names := []string{"creator", "scanner", "kubectl", "labeller"}
	name := names[m.random.IntN(len(names))]
	switch m.random.IntN(4) {
	case 0:
		return m.apply(t, live, m.content(t, round+m.random.IntN(3)), name, m.random.IntN(2) == 0)
	case 1: // Nothing of it is new.
		return m.update(t, live, live, name)
	default:
		var content map[string]any
		testkit.NoError(t, json.Unmarshal(live, &content))
		m.change(content)
		return m.update(t, live, marshal(t, content), name)
	}
}

// empty is what creates are compared with.
func (m *managers) empty(t *testing.T) []byte {
	t.Helper()
	return marshal(t, m.kind.New())
}

// content returns a report as a client sends it.
func (m *managers) content(t *testing.T, i int) []byte {
	t.Helper()
	kind := testkit.Must(sample.KindOf(m.kind.GroupVersionKind.Kind))(t)
	made := sample.Cluster{Seed: 7, Now: time.Unix(1_763_800_000, 0)}.Report(kind, i, m.random.IntN(4))
	for range m.random.IntN(3) {
		m.change(made.Object)
	}
	return marshal(t, made)
}

// change changes one thing of a report.
func (m *managers) change(content map[string]any) {
	metadata, _ := content["metadata"].(map[string]any)
	body := content
	if spec, ok := content["spec"].(map[string]any); ok {
		body = spec
	}
	word := fmt.Sprintf("w%d", m.random.IntN(4))
	result := map[string]any{
		"policy": "p" + word, "source": "kyverno", "result": "fail", "message": "\"<&>\\ \u2028 é ]},{[\x01" + word, "scored": m.random.IntN(2) == 0,
		"properties": map[string]any{"a\"b": word}, "timestamp": map[string]any{"seconds": m.random.IntN(9), "nanos": 0},
	}
	changes := []func(){
		func() { metadata["labels"] = map[string]any{"l" + word: word} },
		func() { metadata["annotations"] = map[string]any{"a": word, word: "1"} },
		func() { delete(metadata, "labels") },
		func() { metadata["finalizers"] = []any{"example.com/" + word, "example.com/w0"} },
		func() {
			owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": word, "uid": word}
			metadata["ownerReferences"] = []any{owner, map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "w1"}}
		},
		func() { delete(metadata, "managedFields") },
		func() { metadata["managedFields"] = []any{} },
		func() { metadata["managedFields"] = []any{map[string]any{}} },
		func() { // As somebody wrote it by another version.
			if fields, ok := metadata["managedFields"].([]any); ok && len(fields) > 0 {
				if entry, ok := fields[0].(map[string]any); ok {
					entry["apiVersion"] = []string{"example.com/v9", "wgpolicyk8s.io/v1beta1", "a/b/c"}[m.random.IntN(3)]
				}
			}
		},
		func() { body["results"] = []any{} },
		func() { body["results"] = []any{result} },
		func() { body["results"] = []any{result, result, map[string]any{"policy": word}} },
		func() { body["results"] = nil },
		func() { delete(body, "results") },
		func() { body["summary"] = map[string]any{"pass": m.random.IntN(3), word: 1} },
		func() { body["summary"] = map[string]any{} },
		func() { delete(body, "summary") },
		func() { body["scope"] = map[string]any{"kind": "Pod", "name": word} },
		func() { body["owner"] = map[string]any{"kind": "Pod", "name": word, "apiVersion": "v1", "uid": word} },
		func() { body["scope"] = map[string]any{} },
		func() { body["scopeSelector"] = map[string]any{"matchLabels": map[string]any{word: "x"}} },
		func() { body["source"] = word },
		func() { content["unknown"] = word },
		func() { body["summary"] = word }, // It is of the wrong type.
		func() { body["results"] = map[string]any{"policy": word} },
		func() { delete(content, "spec") },
	}
	changes[m.random.IntN(len(changes))]()
}

// read returns a report as the server has it: a stored one as it reads what was stored.
func (m *managers) read(t *testing.T, data []byte, stored bool) runtime.Object {
	t.Helper()
	obj := m.kind.New()
	if err := json.Unmarshal(data, obj); err != nil {
		t.Fatalf("read %s: %v", data, err)
	}
	if !stored {
		return obj
	}
	encoded, err := runtime.Encode(m.kind.Codec(), obj)
	if err != nil {
		t.Fatal(err)
	}
	if obj, _, err = m.kind.Codec().Decode(encoded, nil, m.kind.New()); err != nil {
		t.Fatal(err)
	}
	return obj
}

func (m *managers) update(t *testing.T, live, next []byte, by string) []byte {
	t.Helper()
	return m.same(t, live, next, by, func(manager *managedfields.FieldManager) (runtime.Object, error) {
		return manager.Update(m.read(t, live, isStored(live)), m.read(t, next, false), by)
	})
}

func (m *managers) apply(t *testing.T, live, patch []byte, by string, force bool) []byte {
	t.Helper()
	return m.same(t, live, patch, by, func(manager *managedfields.FieldManager) (runtime.Object, error) {
		applied := &unstructured.Unstructured{}
		testkit.NoError(t, json.Unmarshal(patch, applied))
		return manager.Apply(m.read(t, live, true), applied, by, force)
	})
}

// TestDerivesAlike: what says that nothing else is derived from an updated report is right, and knows it of an
// annotation.
func TestDerivesAlike(t *testing.T) {
	t.Parallel()
	models := testModels(t)
	for _, kind := range Kinds() {
		m := newManagers(t, kind, models, 3)
		for i := range 400 {
			data := m.content(t, i%5)
			var content map[string]any
			testkit.NoError(t, json.Unmarshal(data, &content))
			m.change(content)
			old, updated := m.read(t, data, true), m.read(t, marshal(t, content), true)
			known, ok := old.(interface {
				DerivesAlike() func(runtime.Object) bool
			})
			if !ok {
				t.Fatalf("a %T can't say what is derived", old)
			}
			alike := known.DerivesAlike()
			if same := derivedOf(t, kind, old) == derivedOf(t, kind, updated); alike(updated) && !same {
				t.Fatalf("%s\nderives not what this does, and says it does:\n%s", data, marshal(t, content))
			}
			changed := old.DeepCopyObject()
			accessor, ok := changed.(object)
			if !ok {
				t.Fatalf("a %T is no report", changed)
			}
			accessor.SetAnnotations(map[string]string{"a": "b"})
			if !alike(changed) {
				t.Fatalf("%s\nderives something else with an annotation", data)
			}
			accessor.SetLabels(map[string]string{"new": "b"})
			if alike(changed) {
				t.Fatalf("%s\nderives the same with other labels", data)
			}
		}
	}
}

// derivedOf returns what is derived of a report, in a form that can be compared.
func derivedOf(t *testing.T, kind Kind, obj runtime.Object) string {
	t.Helper()
	labels, fields := testkit.Must2(kind.GetAttrs(obj))(t)
	projection, err := results.Project(obj)
	return string(marshal(t, []any{labels, fields, projection, fmt.Sprint(err)}))
}

// isStored says whether an object is more than what a create is compared with.
func isStored(data []byte) bool {
	var read metav1.PartialObjectMetadata
	return json.Unmarshal(data, &read) == nil && read.Name != ""
}

// same does something by both ways, and returns what is stored then.
func (m *managers) same(t *testing.T, live, next []byte, by string, do func(*managedfields.FieldManager) (runtime.Object, error)) []byte {
	t.Helper()
	want, wantErr := do(m.library)
	got, gotErr := do(m.ours)
	// Which problems of an invalid patch the library finds, and in which order, is by chance.
	if (wantErr == nil) != (gotErr == nil) || apierrors.IsConflict(wantErr) && wantErr.Error() != gotErr.Error() {
		t.Fatalf("%s changed\n%s\nto\n%s\nerror is\n%v\nwant\n%v", by, live, next, gotErr, wantErr)
	}
	if wantErr != nil || want == nil {
		return live
	}
	wantData, gotData := m.timeless(t, want), m.timeless(t, got)
	if diff := cmp.Diff(string(wantData), string(gotData)); diff != "" {
		t.Fatalf("%s changed\n%s\nto\n%s\n(-library +ours):\n%s", by, live, next, diff)
	}
	return wantData
}

// timeless returns a report as JSON, with times that don't depend on when it was changed, and a UID.
func (m *managers) timeless(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	accessor, ok := obj.(object)
	if !ok {
		t.Fatalf("a %T is no report", obj)
	}
	fields := accessor.GetManagedFields()
	for i := range fields {
		fields[i].Time = &metav1.Time{Time: time.Unix(1_763_800_000, 0)}
	}
	accessor.SetManagedFields(fields)
	accessor.SetUID("uid")
	obj.GetObjectKind().SetGroupVersionKind(m.kind.GroupVersionKind)
	return marshal(t, obj)
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	return testkit.Must(json.Marshal(value))(t)
}
