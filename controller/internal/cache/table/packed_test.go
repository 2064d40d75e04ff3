// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// decodedAlike compares with encoding/json.
func decodedAlike(t *testing.T, text []byte) {
	t.Helper()
	var want any
	wantErr := json.Unmarshal(text, &want)
	d, err := NewDocument(newEngine(), text)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q: error %v, want %v", text, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(d.value, want) {
		t.Fatalf("%q: %#v, want %#v", text, d.value, want)
	}
}

var texts = []string{
	``, `{}`, `[]`, `null`, ` true `, `false`, `0`, `-0`, `-1.5e3`, `1e400`, `9007199254740993`, `""`, `"\u00e4\ud83d\ude00\"\\\/\b\f\n\r\t"`,
	`"\ud800"`, `"\ud800\u0041"`, `"\ud800\ud800\udc00"`, `"\ud800x"`, "\"\xff\xfe\"", `{"a":{"b":[1,{"c":null}],"d":"x"},"a":2}`,
	`[[[]]]`, `{"a"`, `[1,]`, `{"a":1,}`, `nul`, `01`, `"`, `"\x"`, `"\u12"`, `{"a\"b":"c\\"}`, "\"\x01\"", `[1 2]`, `{} {}`,
}

func TestDecodesLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		decodedAlike(t, []byte(text))
	}
	m := made{rand.New(rand.NewSource(1))}
	for range 500 {
		text := testkit.Must(json.Marshal(m.value(4)))(t)
		decodedAlike(t, text)
	}
}

func FuzzDecodesLikeEncodingJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { decodedAlike(t, text) })
}

func TestDecodesOnlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	text := `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}],"e":{"f":[]}},"g":"\"}{","h":3}`
	for expression, want := range map[string]string{
		"a.b[].c":                `{"a":{"b":[{"c":1},{"c":2}]}}`,
		"a.b[?c=='x'].d":         `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}]}}`,
		"a.b[?c].d":              `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}]}}`,
		"a[?e].b[?d].c":          `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}],"e":{"f":[]}}}`,
		"h":                      `{"h":3}`,
		"a.e":                    `{"a":{"e":{"f":[]}}}`,
		"a.{x: 'y'}":             `{"a":{}}`,
		"length(a.e)":            `{"a":{"e":{"f":[]}}}`,
		"a && h":                 `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}],"e":{"f":[]}},"h":3}`,
		"a.e | keys(@)":          `{"a":{"e":{"f":[]}}}`,
		"sort_by(a.b, &c)[0].d":  `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}]}}`,
		"@":                      text,
		"a.*":                    `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}],"e":{"f":[]}}}`,
		"[g, h]":                 `{"g":"\"}{","h":3}`,
		"missing.b || a.b[0].c":  `{"a":{"b":[{"c":1},{"c":2}]}}`,
		"to_string({x: h})":      `{"h":3}`,
		"(a.e || g).f":           `{"a":{"e":{"f":[]}},"g":"\"}{"}`,
		"map(&c, a.b) | [0]":     `{"a":{"b":[{"c":1,"d":"x]}\\"},{"c":2}]}}`,
		"a.b[*].[c] | [0] | [0]": `{"a":{"b":[{"c":1},{"c":2}]}}`,
	} {
		parsed := testkit.Must(parse(expression))(t)
		value, err := decode(text, needOf(parsed))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		var got bytes.Buffer
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		testkit.NoError(t, encoder.Encode(value))
		if string(bytes.TrimSpace(got.Bytes())) != want {
			t.Errorf("%s: %s, want %s", expression, got.String(), want)
		}
	}
}

func TestWhatObjectsHaveInCommonIsDecodedOnce(t *testing.T) {
	t.Parallel()
	known := map[string]any{}
	var ports []any
	for i := range 100 {
		packed := mustPack(t, service(i, 0))
		want := testkit.Must(packed.value(nil))(t)
		got, err := decodeAlike(packed.data, known)
		if err != nil || !reflect.DeepEqual(got, any(want)) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		spec, _ := got.(map[string]any)["spec"].(map[string]any)
		now, _ := spec["ports"].([]any)
		if ports != nil && !same(now, ports) {
			t.Fatal("equal ports are decoded again")
		}
		ports = now
	}
	for _, text := range []string{`{"a":{"b":[1,}}`, `{"a":{"b":[1`, `{"a":{"b":{"c"}}}`} {
		if _, err := decodeAlike(text, map[string]any{}); err == nil {
			t.Errorf("%s is decoded", text)
		}
	}
}

func TestPackLeavesOutNoise(t *testing.T) {
	t.Parallel()
	object := func() map[string]any {
		return map[string]any{"kind": "Thing", "spec": map[string]any{"big": int64(9007199254740993), "text": "<&>"}, "metadata": map[string]any{
			"name": "n", "namespace": "s", "uid": "u", "resourceVersion": "7", "managedFields": []any{map[string]any{"manager": "m"}},
			"annotations": map[string]any{policy.LastApplied: "{}", "a": "b"},
		}}
	}
	given := object()
	packed := mustPack(t, given)
	if !reflect.DeepEqual(given, object()) {
		t.Errorf("the object has been changed: %v", given)
	}
	want := `{"kind":"Thing","metadata":{"annotations":{"a":"b"},"name":"n","namespace":"s","resourceVersion":"7","uid":"u"},"spec":{"big":9007199254740993,"text":"<&>"}}`
	if packed.data != want {
		t.Errorf("%s, want %s", packed.data, want)
	}
	meta := packed.GetObjectMeta()
	if meta.GetName() != "n" || meta.GetNamespace() != "s" || meta.GetUID() != "u" || meta.GetResourceVersion() != "7" {
		t.Errorf("%+v", meta)
	}
	only := mustPack(t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{policy.LastApplied: "{}"}}})
	if only.data != `{"metadata":{}}` {
		t.Errorf("%s", only.data)
	}
	if _, err := Pack(&unstructured.Unstructured{Object: map[string]any{"f": func() {}}}); err == nil {
		t.Error("what is no JSON is packed")
	}
}

func TestPutSaysWhatHasChanged(t *testing.T) {
	t.Parallel()
	table := NewTable(newEngine(), Header{})
	object := func(change func(object, metadata map[string]any)) *Packed {
		metadata := map[string]any{"name": "n", "resourceVersion": "1", "generation": int64(1)}
		object := map[string]any{"metadata": metadata, "status": "s", "spec": "s"}
		change(object, metadata)
		return mustPack(t, object)
	}
	for i, test := range []struct {
		object *Packed
		want   Change
	}{
		{object(func(_, _ map[string]any) {}), Content},
		{object(func(_, _ map[string]any) {}), None},
		{object(func(_, m map[string]any) { m["managedFields"] = []any{} }), None},
		{object(func(_, m map[string]any) { m["resourceVersion"] = "2" }), StatusOnly},
		{object(func(o, m map[string]any) { m["resourceVersion"] = "3"; o["status"] = "t"; m["generation"] = int64(2) }), StatusOnly},
		{object(func(o, _ map[string]any) { o["spec"] = "t" }), Content},
		{object(func(o, m map[string]any) { o["spec"] = "t"; m["labels"] = map[string]any{"a": "b"} }), Content},
	} {
		version := table.current.Load().version
		if got := table.Put(test.object); got != test.want {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
		if (table.current.Load().version != version) != (test.want != None) {
			t.Errorf("%d: version %d after %d", i, table.current.Load().version, version)
		}
	}
	if table.current.Load().resourceVersion != "1" || table.Len() != 1 || table.Get("", "n") == nil {
		t.Errorf("resource version %s, %d objects", table.current.Load().resourceVersion, table.Len())
	}
	if table.Delete("", "m") || !table.Delete("", "n") || table.Len() != 0 {
		t.Error("deletion")
	}
}
