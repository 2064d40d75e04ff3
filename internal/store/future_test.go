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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	synctest.Test(t, testNumbersOfStrangers)
}

func testNumbersOfStrangers(t *testing.T) {
	t.Helper()
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

// TestFutureIsWaitedFor: a watch from a revision that is not given out yet waits for it, with and without initial
// events. Who asks for what never comes learns when to try again.
func TestFutureIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, initial := range []*bool{nil, new(false), new(true)} {
		synctest.Test(t, func(t *testing.T) { testFutureIsWaitedFor(t, initial) })
	}
}

func testFutureIsWaitedFor(t *testing.T, initial *bool) {
	t.Helper()
	r := newReportsOn(t, openModel(t))
	before := r.present(t)
	go func() {
		time.Sleep(time.Second) //nolint:forbidigo // In the time of the bubble.
		for _, name := range []string{"a", "b", "c"} {
			r.create(t, name)
		}
	}()
	options := storage.ListOptions{
		Recursive: true, Predicate: everything, SendInitialEvents: initial, ResourceVersion: strconv.FormatInt(int64(before)+2, 10),
	}
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", options))(t)
	defer w.Stop()
	want := "c"
	if initial != nil && *initial {
		want = "a"
	}
	event := <-w.ResultChan()
	if report, ok := event.Object.(*policyReport); !ok || event.Type != watch.Added || report.Name != want {
		t.Errorf("got %s %v, want that %s was added", event.Type, event.Object, want)
	}
	checkRetry := func(what string, err error) {
		t.Helper()
		if after, ok := apierrors.SuggestsClientDelay(err); !storage.IsTooLargeResourceVersion(err) || !ok || after != 1 {
			t.Errorf("%s: %v, want that the version is too large, and to try again after a second", what, err)
		}
	}
	options.ResourceVersion, options.SendInitialEvents = "1000", new(true)
	refused := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", options))(t)
	defer refused.Stop()
	checkRetry("watch", apierrors.FromObject((<-refused.ResultChan()).Object))
	options.SendInitialEvents = nil
	checkRetry("list", r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", options, emptyList()))
	options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	checkRetry("exact list", r.GetList(t.Context(), "/wgpolicyk8s.io/policyreports", options, emptyList()))
	checkRetry("get", r.Get(t.Context(), key("a"), storage.GetOptions{ResourceVersion: "1000"}, emptyReport()))
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
