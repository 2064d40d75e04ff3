// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// TestDatabase copies between the engines, both ways, interrupted at random moments. Guarantee M1.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run(from+" to "+to, func(t *testing.T) {
			t.Parallel()
			urls := databases(t)
			const n = 600
			source, destination := opened(t, urls[from]), urls[to]
			fill(t, source, n)
			want := contents(t, source)
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			for range 3 {
				interrupted(t, source, destination, time.Duration(random.Int64N(int64(300*time.Millisecond))))
			}
			place := opened(t, destination)
			if err := copyAll().Database(t.Context(), source, place); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(want, contents(t, place)); diff != "" || len(want) != n {
				t.Errorf("seed %d: %d reports (-source +destination):\n%.3000s", seed, len(want), diff)
			}
			state := testkit.Must(place.Store.State(t.Context()))(t)
			before, err := source.Store.State(t.Context())
			if err != nil || state.Compacted <= before.Revision {
				t.Errorf("watches from revision %d of the source would not end: %+v, %v", before.Revision, state, err)
			}
		})
	}
}

// interrupted copies for some time.
func interrupted(t *testing.T, source Place, destination string, after time.Duration) {
	t.Helper()
	place, closePlace := open(t, destination)
	defer closePlace()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	if err := copyAll().Database(ctx, source, place); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
}

// TestDatabaseKeeps: what the destination has already is left alone, unless it is to
// be replaced.
func TestDatabaseKeeps(t *testing.T) {
	t.Parallel()
	for engine, url := range databases(t) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			source, place := opened(t, databases(t)["sqlite"]), opened(t, url)
			fill(t, source, 20)
			kind, other := made(t, 3)
			other.SetLabels(map[string]string{"changed": "here"})
			_, extra := made(t, 27) // Of the same kind as 3, and not at the source.
			importInto(t, place, imports.Request{Mode: imports.Fill, Items: []imports.Item{
				itemFor(t, kind, other, 0), itemFor(t, kind, extra, 0),
			}})
			var out bytes.Buffer
			c := copyAll()
			c.Out = &out
			if err := c.Database(t.Context(), source, place); err == nil || !strings.Contains(err.Error(), "--replace") {
				t.Errorf("the copy ended with %v", err)
			}
			for _, text := range []string{"1 kept", other.GetName() + ": differs", extra.GetName() + ": extra"} {
				if !strings.Contains(out.String(), text) {
					t.Errorf("the output does not say %q:\n%s", text, out.String())
				}
			}
			c.Replace = true
			testkit.NoError(t, c.Database(t.Context(), source, place))
			testkit.NoDiff(t, cmp.Diff(contents(t, source), contents(t, place)), "replaced (-source +destination)")
		})
	}
}

// TestImport: what becomes of items on a real store, in the order of a migration.
func TestImport(t *testing.T) {
	t.Parallel()
	for engine, url := range databases(t) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			place := opened(t, url)
			kind, object := made(t, 0)
			one := func(mode imports.Mode, version uint64, known bool) imports.Outcome {
				item := itemFor(t, kind, object, version)
				item.Known = known
				return importInto(t, place, imports.Request{Mode: mode, Items: []imports.Item{item}})[0]
			}
			want := func(outcome imports.Outcome, result imports.Result) {
				t.Helper()
				if outcome.Result != result {
					t.Fatalf("got %+v, want %s", outcome, result)
				}
			}
			want(one(imports.Mirror, 10, false), imports.Created)
			want(one(imports.Mirror, 10, false), imports.Same)
			object.SetLabels(map[string]string{"at": "source"})
			want(one(imports.Tail, 20, true), imports.Updated)
			want(one(imports.Tail, 15, true), imports.Same)

			stored, err := place.Storage.Get(t.Context(), kind, object.GetNamespace(), object.GetName())
			if err != nil || stored.GetUID() != object.GetUID() || stored.GetGeneration() != object.GetGeneration() ||
				len(stored.GetManagedFields()) != 1 || !stored.GetCreationTimestamp().Time.Equal(object.GetCreationTimestamp().Time) {
				t.Fatalf("stored: %+v, %v", stored, err)
			}
			clientCopy, _ := testkit.Must2(kind.Decode(itemFor(t, kind, stored, 0).Object))(t)
			clientCopy.SetLabels(map[string]string{"at": "client"})
			testkit.NoError(t, place.Storage.Update(t.Context(), kind, stored, clientCopy))
			object.SetLabels(map[string]string{"at": "source again"})
			want(one(imports.Tail, 30, true), imports.Kept)
			deletion := imports.Item{
				Group: kind.Group, Resource: kind.Resource, Version: 40,
				Delete: &imports.Deletion{Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID())},
			}
			want(importInto(t, place, imports.Request{Mode: imports.Tail, Items: []imports.Item{deletion}})[0], imports.Kept)
			if err := place.Storage.Update(t.Context(), kind, stored, clientCopy); !errors.Is(err, imports.ErrChanged) {
				t.Errorf("an update of an old state: %v", err)
			}
			want(importInto(t, place, imports.Request{Mode: imports.Mirror, Items: []imports.Item{deletion}})[0], imports.Deleted)
			want(one(imports.Tail, 30, true), imports.Gone)
			object.SetUID("00000000-0000-4000-8000-00000000000a")
			want(one(imports.Tail, 50, false), imports.Created)
			object.SetUID("00000000-0000-4000-8000-00000000000b")
			want(one(imports.Tail, 60, false), imports.Updated)
			wrong := itemFor(t, kind, object, 60) // What was seen to be absent is not any more.
			wrong.Absent = true
			want(importInto(t, place, imports.Request{Mode: imports.Tail, Items: []imports.Item{wrong}})[0], imports.Same)
			object.SetName("")
			want(one(imports.Tail, 70, false), imports.Failed)
		})
	}
}
