// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// contentOf returns the names of the objects of an index by their keys.
func contentOf(t *testing.T, index *Index) map[any][]string {
	t.Helper()
	content := map[any][]string{}
	for key := range index.Keys() {
		found, err := index.Find(key)
		if err != nil || len(found) == 0 || !index.Has(key) {
			t.Fatalf("%v: %v, %v", key, found, err)
		}
		for _, object := range found {
			metadata, _ := object.(map[string]any)["metadata"].(map[string]any)
			content[key] = append(content[key], fmt.Sprint(metadata["namespace"], "/", metadata["name"]))
		}
	}
	if index.Len() != len(content) {
		t.Errorf("Len %d, %d keys", index.Len(), len(content))
	}
	return content
}

func keyed(namespace, name string, keys ...any) map[string]any {
	return map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": map[string]any{"keys": keys}}
}

// TestIndexHasWhatTheTableHas makes random changes and compares with all objects. An index that was read
// earlier stays the same.
func TestIndexHasWhatTheTableHas(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	table := NewTable(newEngine(), Header{})
	want := map[string][]any{} // Keys by namespace/name.
	type reading struct {
		index   *Index
		content map[any][]string
	}
	var readings []reading
	for step := range 400 {
		for range 1 + random.Intn(20) {
			name := fmt.Sprintf("n%02d", random.Intn(60))
			if random.Intn(4) == 0 {
				table.Delete("s", name)
				delete(want, "s/"+name)
				continue
			}
			keys := []any{}
			for range random.Intn(4) {
				keys = append(keys, []any{"text", "another", 7.0, true, fmt.Sprint("k", random.Intn(30))}[random.Intn(5)])
			}
			table.Put(mustPack(t, keyed("s", name, keys...)))
			want["s/"+name] = keys
		}
		index := testkit.Must(table.Index(t.Context(), "spec.keys"))(t)
		content := map[any][]string{}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			for _, key := range want[name] {
				if !slices.Contains(content[key], name) {
					content[key] = append(content[key], name)
				}
			}
		}
		if diff := cmp.Diff(content, contentOf(t, index)); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", step, diff)
		}
		if step%50 == 0 {
			readings = append(readings, reading{index, content})
		}
	}
	for i, r := range readings {
		testkit.NoDiff(t, cmp.Diff(r.content, contentOf(t, r.index)), "reading %d has changed (-was +is)", i)
	}
}

func TestKeysOfAnIndex(t *testing.T) {
	t.Parallel()
	table := NewTable(newEngine(), Header{})
	for _, object := range []map[string]any{keyed("s", "a", "x", 2.0), keyed("s", "b", "x"), keyed("t", "a")} {
		table.Put(mustPack(t, object))
	}
	for expression, want := range map[string]map[any][]string{
		"metadata.name": {"a": {"s/a", "t/a"}, "b": {"s/b"}},
		"join('/', [metadata.namespace, metadata.name])": {"s/a": {"s/a"}, "s/b": {"s/b"}, "t/a": {"t/a"}},
		"spec.keys":                       {"x": {"s/a", "s/b"}, 2.0: {"s/a"}},
		"[spec.keys, metadata.name]":      {"x": {"s/a", "s/b"}, 2.0: {"s/a"}, "a": {"s/a", "t/a"}, "b": {"s/b"}},
		"spec.none":                       {},
		"length(spec.keys || `[]`) > `1`": {true: {"s/a"}, false: {"s/b", "t/a"}},
	} {
		index, err := table.Index(t.Context(), expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		testkit.NoDiff(t, cmp.Diff(want, contentOf(t, index)), "%s (-want +got)", expression)
		for _, none := range []any{"none", nil, anyKey{}, failedKey{}, []any{}} {
			if found, err := index.Find(none); found != nil || err != nil {
				t.Errorf("%s: %v has %v, %v", expression, none, found, err)
			}
		}
	}
}

// TestIndexFailsAsAWhole: an object whose keys can't be computed would be missing.
func TestIndexFailsAsAWhole(t *testing.T) {
	t.Parallel()
	table := NewTable(newEngine(), Header{})
	for i := range 3 {
		table.Put(mustPack(t, keyed("s", fmt.Sprint(i), "x")))
	}
	for expression, word := range map[string]string{"spec": "neither a text", "to_upper(spec.none)": "to_upper"} {
		_, err := table.Index(t.Context(), expression)
		if err == nil || !strings.Contains(err.Error(), "the key of s/0") || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", expression, err)
		}
	}
	const number = "to_upper(spec.keys[0])"
	if _, err := table.Index(t.Context(), number); err != nil {
		t.Error(err)
	}
	table.Put(mustPack(t, keyed("s", "1", 5.0)))
	if _, err := table.Index(t.Context(), number); err == nil || !strings.Contains(err.Error(), "s/1") {
		t.Errorf("%v, want the name of the object", err)
	}
	table.Put(mustPack(t, keyed("s", "1", "y")))
	if index, err := table.Index(t.Context(), number); err != nil || !index.Has("Y") {
		t.Error(err)
	}
}

func TestExpressionsThatCanNotBeKeys(t *testing.T) {
	t.Parallel()
	engine := newEngine()
	for _, expression := range []string{"", "@", "a[", "random()", "keys(a)", "a.*", "unknown(a)"} {
		if engine.CheckKeys(expression) == nil {
			t.Errorf("%q can be a key", expression)
		}
	}
	for _, expression := range []string{"metadata.name", "a[].b", "join('/', [metadata.namespace, metadata.name])"} {
		if err := engine.CheckKeys(expression); err != nil {
			t.Error(err)
		}
	}
}
