// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

func walSize(t testing.TB, path string) int64 {
	t.Helper()
	info := testkit.Must(os.Stat(path + "-wal"))(t)
	return info.Size()
}

// TestLogIsBounded writes far more than the limit of the log while readers never
// leave it alone.
func TestLogIsBounded(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main", Synchronous: sqlite.Normal})
	e.SetWALLimit(8 << 20)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := e.List(t.Context(), engine.Query{Resource: reportsResource, Limit: 50}); err != nil {
					t.Errorf("list: %v", err)
					return
				}
			}
		})
	}
	large := strings.Repeat("x", 1<<20)
	highest := int64(0)
	revision := commit(t, e, []engine.Op{create("a", large)}).State.Revision
	for range 250 {
		op := create("a", large)
		op.Kind, op.Expect = engine.Update, revision
		revision = commit(t, e, []engine.Op{op}).State.Revision
		highest = max(highest, walSize(t, path))
	}
	close(done)
	readers.Wait()
	// Each update moves 2 MiB: 500 in all. The checkpointer is asked every 24 and
	// runs beside the writer, so that some more may follow meanwhile.
	t.Logf("the log had at most %d MiB", highest>>20)
	if highest > 150<<20 {
		t.Errorf("the log grew to %d MiB", highest>>20)
	}
}

// TestSettleDown: when nothing is written, the log becomes empty, and no result is late.
func TestSettleDown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main"})
	commit(t, e, reports(0, 100))
	if walSize(t, path) == 0 || lateResults(t, e) == 0 {
		t.Fatal("the log is empty after a commit, or the index of verdicts complete")
	}
	testkit.NoError(t, e.SettleDown(t.Context()))
	if size := walSize(t, path); size != 0 {
		t.Errorf("the log has %d bytes", size)
	}
	if late := lateResults(t, e); late != 0 {
		t.Errorf("%d results are late", late)
	}
}

// TestTidyGivesBack deletes most of a database: verdicts and subjects that nothing refers to go, the file shrinks, and
// the rest is intact.
func TestTidyGivesBack(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main", Synchronous: sqlite.Normal})
	const all, left = 6000, 40
	for n := int64(0); n < all; n += 500 {
		commit(t, e, reports(n, 500))
	}
	tidy := func() {
		t.Helper()
		for range 6 {
			testkit.NoError(t, e.Tidy(t.Context()))
		}
	}
	rows := func(table string) int64 {
		t.Helper()
		return testkit.Must(e.CountRows(t.Context(), table))(t)
	}
	tidy()
	if subjects, verdicts := rows("subject"), rows("verdict"); subjects != all || verdicts != 17*20 {
		t.Errorf("%d subjects and %d verdicts in use, want %d and %d", subjects, verdicts, all, 17*20)
	}
	before := testkit.Must(os.Stat(path))(t)
	for n := int64(left); n < all; n += 500 {
		ops := reports(n, min(500, all-n))
		for i := range ops {
			ops[i].Kind, ops[i].Expect = engine.Delete, engine.Revision(n+int64(i)+2)
		}
		commit(t, e, ops)
	}
	testkit.NoError(t, e.Compact(t.Context(), 2*all-left+1))
	tidy()
	after := testkit.Must(os.Stat(path))(t)
	if after.Size() > before.Size()/2 {
		t.Errorf("the file has %d bytes, it had %d", after.Size(), before.Size())
	}
	if subjects, events := rows("subject"), rows("event"); subjects != left || events != 0 {
		t.Errorf("%d subjects and %d events are left", subjects, events)
	}
	// What was removed comes back with the reports that need it.
	commit(t, e, reports(all-10, 10))
	if dangling, err := e.Dangling(t.Context()); err != nil || dangling != 0 {
		t.Errorf("%d rows refer to nothing; %v", dangling, err)
	}
	page, err := e.List(t.Context(), engine.Query{Resource: reportsResource})
	if err != nil || len(page.Rows) != left+10 {
		t.Errorf("%d reports are left; %v", len(page.Rows), err)
	}
}

// TestCancelledRead: a long read ends with its context.
func TestCancelledRead(t *testing.T) {
	t.Parallel()
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"})
	commit(t, e, reports(0, 500))
	err := e.ScanWhile(t.Context())
	if !errors.Is(err, sqlite.ErrScanCancelled) {
		t.Errorf("the scan ended with %v", err)
	}
}
