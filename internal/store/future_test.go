// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
	"github.com/docket-project/docket/internal/store/storetest"
)

func engines() map[string]storetest.Open {
	return map[string]storetest.Open{"model": openModel, "sqlite": openSQLite, "postgres": openPostgres}
}

// from begins a watch at a revision.
func (r *reports) from(t *testing.T, revision engine.Revision) watch.Interface {
	t.Helper()
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
		Recursive: true, Predicate: everything, ResourceVersion: strconv.FormatInt(int64(revision), 10),
	}))(t)
	t.Cleanup(w.Stop)
	return w
}

func (r *reports) present(t testing.TB) engine.Revision {
	t.Helper()
	state := testkit.Must(r.store.State(t.Context()))(t)
	return state.Revision
}

// TestNumbersThatWereLost: a client that comes with a revision which the database forgot gets an error that says so,
// and no forgotten revision is given out again. Guarantee S8.
func TestNumbersThatWereLost(t *testing.T) {
	t.Parallel()
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReportsOn(t, open(t))
			r.create(t, "of the backup")
			lost := r.present(t) + 5
			expectExpired(t, r.from(t, lost))
			if now := r.present(t); now <= lost {
				t.Fatalf("the revision is %d after a client had %d", now, lost)
			}
			r.create(t, "after the restore")
			expectExpired(t, r.from(t, lost-2)) // Who comes later misses nothing, either.
			before := r.present(t)
			expectExpired(t, r.from(t, before+10))
			if now := r.present(t); now != before {
				t.Errorf("a second number moved the revision from %d to %d", before, now)
			}
		})
	}
}

// TestNumbersOfStrangers: a revision that nobody can have got here moves nothing, and gets the same error.
func TestNumbersOfStrangers(t *testing.T) {
	t.Parallel()
	r := newReportsOn(t, openModel(t))
	r.create(t, "a")
	before := r.present(t)
	expectExpired(t, r.from(t, 9_000_000_000_000_000_000))
	if now := r.present(t); now != before {
		t.Errorf("the revision went from %d to %d", before, now)
	}
	expectExpired(t, r.from(t, before+1)) // One that may have been lost still counts.
	if now := r.present(t); now <= before+1 {
		t.Errorf("the revision is %d", now)
	}
}

// TestReplicaThatIsBehind: a revision of another replica is none of a lost time.
func TestReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testReplicaThatIsBehind)
}

func testReplicaThatIsBehind(t *testing.T) {
	t.Helper()
	shared := openModel(t)
	behind, err := store.New(t.Context(), store.Options{Engine: shared}) // It does not run.
	if err != nil {
		t.Fatal(err)
	}
	ahead := newReportsOn(t, shared)
	ahead.create(t, "a")
	r := &reports{store: behind, Resource: behind.Resource(ahead.config)}
	before := r.present(t)
	w := r.from(t, before)
	time.Sleep(time.Minute) //nolint:forbidigo // In the time of the bubble, which passes once everything due within a minute is done.
	select {
	case event := <-w.ResultChan():
		t.Errorf("got %s %v", event.Type, event.Object)
	default:
	}
	if now := r.present(t); now != before {
		t.Errorf("the revision went from %d to %d", before, now)
	}
}

// TestFolderPutBack: all files of a SQLite database, as a snapshot of the volume has them. An informer that went on
// meanwhile lists again, and later changes have numbers above all that it saw.
func TestFolderPutBack(t *testing.T) {
	t.Parallel()
	folder, snapshot := t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
	path := filepath.Join(folder, "docket.db")
	run := func(do func(r *reports)) {
		t.Helper()
		e := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "test"}))(t)
		t.Run("server", func(t *testing.T) { do(newReportsOn(t, e)) }) // It stops at the end of this.
		testkit.NoError(t, e.Close())
	}
	var seen engine.Revision
	run(func(r *reports) { r.create(t, "before") })
	testkit.NoError(t, os.CopyFS(snapshot, os.DirFS(folder)))
	run(func(r *reports) {
		for i := range 10 {
			r.create(t, "forgotten-"+strconv.Itoa(i))
		}
		seen = r.present(t)
	})
	testkit.NoError(t, errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(snapshot))))
	run(func(r *reports) {
		if now := r.present(t); now <= seen { // Before any client comes.
			t.Errorf("the database goes on from %d, the client saw %d", now, seen)
		}
		expectExpired(t, r.from(t, seen))
		created := r.create(t, "after")
		if revision, err := strconv.ParseInt(created.ResourceVersion, 10, 64); err != nil || engine.Revision(revision) <= seen {
			t.Errorf("a new object has the revision %s, the client saw %d: %v", created.ResourceVersion, seen, err)
		}
	})
}
