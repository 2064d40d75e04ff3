// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"math/rand"
	"testing"
)

// play changes a table at random and compares all answers with those of the library.
func play(t testing.TB, seed int64, steps int) (answers int) {
	t.Helper()
	m := made{rand.New(rand.NewSource(seed))}
	w := newWorld()
	w.table.engine.candidates = pick(m, 0, 3, maxCandidates)
	wild := m.Intn(2) == 0
	type question struct {
		shape Shape
		text  string
	}
	var pool []question
	for range 12 {
		shape, text := m.shaped()
		pool = append(pool, question{shape, text})
	}
	for range steps {
		namespace, name := pick(m, "p", "p-q", "r"), fmt.Sprint("o", m.Intn(12))
		switch m.Intn(8) {
		case 0:
			w.delete(namespace, name)
		case 1:
			w.table.Trim()
		case 2:
			w.replace(t, m)
		default:
			w.put(t, m.object(namespace, name, wild))
		}
		asked := append([]question{}, pool[m.Intn(len(pool)):]...)
		shape, text := m.shaped()
		for _, q := range append(asked, question{shape, text}) {
			w.check(t, q.shape, q.text)
			answers++
		}
	}
	return answers
}

// replace lists all again, with some changes that no watch has reported.
func (w *world) replace(t testing.TB, m made) {
	t.Helper()
	var all []*Packed
	for key, object := range w.objects {
		switch m.Intn(6) {
		case 0:
			delete(w.objects, key)
			continue
		case 1:
			old := mustPack(t, object)
			object = m.object(old.namespace, old.name, false)
			w.objects[key] = object
		}
		all = append(all, mustPack(t, object))
	}
	w.table.Replace(all, fmt.Sprint(m.Intn(1e6)))
}

func TestAnswersAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	answers := 0
	for seed := range int64(60) {
		answers += play(t, seed, 25)
	}
	t.Logf("%d answers", answers)
}

// TestErrorsThatTheLibrarySwallows is about expressions that meet an error and go on with null.
func TestErrorsThatTheLibrarySwallows(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i, value := range []any{"x", 1, "y"} {
		object := thing("s", fmt.Sprint(i), "h")
		object["a"] = value
		w.put(t, object)
	}
	for expression, null := range map[string]bool{
		"items[].to_upper(a)[]":                                  true,
		"items[].to_upper(a)[].abs(@)":                           true, // Two objects get further, to an error.
		"items[].to_upper(a)[] | [?@ == 'X']":                    true,
		"sort(items[].to_upper(a))[]":                            true,
		"sort(items[].to_upper(a))[?@ == 'X']":                   true,
		"merge(items[0], {b: items[].to_upper(a)}).*":            true,
		"`false` && items[].to_upper(a)":                         false,
		"items[].to_upper(a)":                                    false,
		"items[?a == 'x'].to_upper(a)":                           false,
		"items[?a == 'x' || contains(['x'], to_upper(a))].kind":  false,
		"items[?metadata.name == '1'].to_upper(a)[]":             true,
		"items[?metadata.name == '1'].to_upper(a)[] || `[]`":     false,
		"{a: sort(items[].to_upper(a))[], b: length(items)} | a": true,
	} {
		w.check(t, List, expression)
		got, err := w.table.Search(t.Context(), List, expression)
		if null && (got != nil || err != nil) {
			t.Errorf("%s: %v, %v", expression, got, err)
		}
	}
}

func FuzzAnswersAreThoseOfTheLibrary(f *testing.F) {
	f.Add(int64(-1))
	f.Fuzz(func(t *testing.T, seed int64) { play(t, seed, 25) })
}
