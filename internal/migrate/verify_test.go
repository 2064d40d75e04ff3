// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// TestVerifier finds each kind of difference, and which of them clients made.
func TestVerifier(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		switched bool
		imported uint64
		// change the destination, which was imported from the source.
		change func(t *testing.T, place Place)
		want   Difference
	}{
		"missing":       {false, 0, drop, Missing},
		"deleted since": {true, 1000, drop, DeletedSince},
		"never came":    {true, 1, drop, Missing},
		"differs":       {false, 0, relabel, Differs},
		"changed since": {true, 1000, relabel, ChangedSince},
		"extra":         {false, 0, addOne, Extra},
		"created since": {true, 1000, addOne, CreatedSince},
		"tampered with, under the mark of the import": {true, 1000, tamper, Differs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, place := opened(t, databases(t)["sqlite"]), opened(t, databases(t)["sqlite"])
			kind, object := made(t, 0)
			for i := range 3 {
				object.SetName(fmt.Sprint("r", i))
				item := itemFor(t, kind, object, 2)
				importInto(t, source, imports.Request{Mode: imports.Fill, Items: []imports.Item{item}})
				importInto(t, place, imports.Request{Mode: imports.Mirror, Items: []imports.Item{item}})
			}
			c.change(t, place)
			state := newState()
			state.setCheckpoint(kind, fmt.Sprint(c.imported))
			sides := &copier{kinds: []imports.Kind{kind}, from: source, to: place.destination(testRetrier()), state: state}
			var v Verification
			testkit.NoError(t, sides.verify(t.Context(), &v, c.switched))
			if diff := cmp.Diff(map[Difference]int{c.want: 1}, v.Counts); diff != "" || v.OK() != c.want.explained() {
				t.Errorf("listed %v (-want +got):\n%s", v.Listed, diff)
			}
		})
	}
}

// The report r1 is changed as clients would, past the import.
func drop(t *testing.T, place Place) {
	t.Helper()
	kind, object := made(t, 0)
	current := testkit.Must(place.Storage.Get(t.Context(), kind, object.GetNamespace(), "r1"))(t)
	testkit.NoError(t, place.Storage.Delete(t.Context(), kind, current))
}

func relabel(t *testing.T, place Place) {
	t.Helper()
	kind, object := made(t, 0)
	current := testkit.Must(place.Storage.Get(t.Context(), kind, object.GetNamespace(), "r1"))(t)
	changed, _ := testkit.Must2(kind.Decode(itemFor(t, kind, current, 0).Object))(t)
	changed.SetLabels(map[string]string{"changed": "here"})
	testkit.NoError(t, place.Storage.Update(t.Context(), kind, current, changed))
}

// tamper imports another content than the source has.
func tamper(t *testing.T, place Place) {
	t.Helper()
	kind, object := made(t, 0)
	object.SetName("r1")
	object.SetLabels(map[string]string{"changed": "in transit"})
	importInto(t, place, imports.Request{Mode: imports.Mirror, Items: []imports.Item{itemFor(t, kind, object, 2)}})
}

func addOne(t *testing.T, place Place) {
	t.Helper()
	kind, object := made(t, 0)
	object.SetName("r9")
	importInto(t, place, imports.Request{Mode: imports.Fill, Items: []imports.Item{itemFor(t, kind, object, 0)}})
}
