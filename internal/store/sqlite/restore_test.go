// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// copyDatabase copies a database into a fresh folder as a crash would leave it,
// without the lock, and returns its path. The parts are the suffixes of files.
func copyDatabase(t *testing.T, path string, parts ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "docket.db")
	for _, part := range parts {
		data := testkit.Must(os.ReadFile(path + part))(t)
		testkit.NoError(t, os.WriteFile(to+part, data, 0o600))
	}
	return to
}

// at opens a database and returns its state.
func at(t *testing.T, options sqlite.Options) (*sqlite.Engine, engine.State) {
	t.Helper()
	options.Cluster = "main"
	e := open(t, options)
	state := testkit.Must(e.State(t.Context()))(t)
	return e, state
}

// TestRestore goes through what can happen to the files between two runs: 10
// objects were saved, 20 were given out. Guarantee S8.
func TestRestore(t *testing.T) {
	t.Parallel()
	const saved, given = 11, 21
	cases := []struct {
		name string
		mode sqlite.Synchronous
		// prepare returns the path of the database to open next; e is open, at
		// revision given, and backup is a copy of the file at revision saved.
		prepare func(t *testing.T, e *sqlite.Engine, path, backup string) string
		// revision that the database continues from, at least; above given it is a jump.
		want engine.Revision
	}{
		{"clean restart", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			return path
		}, given},
		{"clean restart of Normal", sqlite.Normal, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			return path
		}, given},
		{"folder moved", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			to := filepath.Join(t.TempDir(), "moved")
			rename(t, filepath.Dir(path), to)
			return filepath.Join(to, filepath.Base(path))
		}, given},
		{"folder copied while it was used", sqlite.Full, func(t *testing.T, _ *sqlite.Engine, path, _ string) string {
			return copyDatabase(t, path, "", "-wal", ".revision")
		}, saved + 10_000 + 1_000_000},
		{"folder copied over itself", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			editLedger(t, path, `(?m)^\d{20}$`, func(string) string {
				return fmt.Sprintf("%020d", time.Now().Add(-10*time.Second).UnixNano())
			})
			return path
		}, saved + 10_000 + 1_000_000},
		{"disk put back, and another boot", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			editLedger(t, path, "boot=.", func(string) string { return "boot=?" })
			return path
		}, saved + 10_000 + 1_000_000},
		{"crash of Normal", sqlite.Normal, func(t *testing.T, _ *sqlite.Engine, path, _ string) string {
			return copyDatabase(t, path, "", "-wal", ".revision")
		}, saved + 10_000 + 1_000_000},
		{"crash that lost the log", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, backup string) string {
			to := copyDatabase(t, path, ".revision")
			rename(t, backup, to)
			return to
		}, saved + 10_000 + 1_000_000},
		{"backup restored", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, backup string) string {
			closeNow(t, e)
			rename(t, backup, path)
			return path
		}, saved + 10_000 + 1_000_000},
		{"backup restored elsewhere", sqlite.Full, func(_ *testing.T, _ *sqlite.Engine, _, backup string) string {
			return backup
		}, saved + 1_000_000},
		{"database deleted", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			testkit.NoError(t, os.Remove(path))
			return path
		}, saved + 10_000 + 1_000_000},
		{"unreadable ledger", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			closeNow(t, e)
			testkit.NoError(t, os.WriteFile(path+".revision", []byte("\x00\x00"), 0o600))
			return path
		}, given + 1_000_000},
		{"ledger of before", sqlite.Full, func(t *testing.T, e *sqlite.Engine, path, _ string) string {
			to := copyDatabase(t, path, ".revision")
			commit(t, e, []engine.Op{create("later", "")})
			closeNow(t, e)
			rename(t, to+".revision", path+".revision")
			return path
		}, saved + 10_000 + 1_000_000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "docket.db")
			e, _ := at(t, sqlite.Options{Path: path, Synchronous: c.mode})
			for i := range 10 {
				commit(t, e, []engine.Op{create(fmt.Sprint(i), "")})
			}
			closeNow(t, e)
			backup := copyDatabase(t, path, "")
			e, before := at(t, sqlite.Options{Path: path, Synchronous: c.mode})
			if before.Revision != saved {
				t.Fatalf("the backup is at %d", before.Revision)
			}
			for i := range 10 {
				commit(t, e, []engine.Op{create(fmt.Sprint("more ", i), "")})
			}
			path = c.prepare(t, e, path, backup)
			checkRestored(t, path, before, c.want, c.want > given+1)
		})
	}
}

// checkRestored opens a database and checks that it continues from a revision, and that everything before is void when
// it jumped there.
func checkRestored(t *testing.T, path string, before engine.State, want engine.Revision, jumped bool) {
	t.Helper()
	e, state := at(t, sqlite.Options{Path: path})
	if state.Revision < want || state.Revision > want+100_000*600 || !jumped && state.Revision != want {
		t.Errorf("the database goes on from %d, want %d", state.Revision, want)
	}
	want = state.Revision
	if jumped != (state.Incarnation != before.Incarnation) || jumped != (state.Compacted == state.Revision) {
		t.Errorf("state %+v after %+v, jumped: %v", state, before, jumped)
	}
	_, _, err := e.Events(t.Context(), 5, 10)
	if jumped {
		wantError(t, err, engine.ErrCompacted)
	} else if err != nil {
		t.Errorf("events: %v", err)
	}
	batch := commit(t, e, []engine.Op{create("after", "")})
	if batch.State.Revision != want+1 {
		t.Errorf("the next revision is %d, want %d", batch.State.Revision, want+1)
	}
	events, _, err := e.Events(t.Context(), want, 10)
	if err != nil || len(events) != 1 || events[0].Key != "after" {
		t.Errorf("events: %v, %v", events, err)
	}
	if err := e.Tidy(t.Context()); err != nil {
		t.Errorf("tidy: %v", err)
	}
	// A snapshot at the revision of the jump is the database as it was found.
	page, err := e.List(t.Context(), engine.Query{Resource: reportsResource, At: want, Count: true})
	if err != nil || page.State.Revision != want+1 {
		t.Errorf("list at %d: %d rows, state %+v, %v", want, len(page.Rows), page.State, err)
	}
	closeNow(t, e)
	_, again := at(t, sqlite.Options{Path: path})
	if again != (engine.State{Revision: want + 1, Compacted: state.Compacted, Incarnation: state.Incarnation}) {
		t.Errorf("after a clean restart the state is %+v, it was %+v", again, state)
	}
}

// editLedger changes the text of the ledger in place.
func editLedger(t *testing.T, path, pattern string, change func(string) string) {
	t.Helper()
	before := testkit.Must(os.ReadFile(path + ".revision"))(t)
	after := regexp.MustCompile(pattern).ReplaceAllStringFunc(string(before), change)
	if after == string(before) {
		t.Fatalf("the ledger has no %s: %s", pattern, before)
	}
	testkit.NoError(t, os.WriteFile(path+".revision", []byte(after), 0o600))
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	testkit.NoError(t, os.Rename(from, to))
}

// TestReservation gives out more revisions than are reserved at a time: what the ledger reserves is always ahead, also
// when the last revision, which is not synced, went back to its value at the start.
func TestReservation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e, _ := at(t, sqlite.Options{Path: path, Synchronous: sqlite.Normal})
	var revision engine.Revision
	for i := range 21 {
		ops := make([]engine.Op, 1000)
		for j := range ops {
			ops[j] = create(fmt.Sprintf("%d/%d", i, j), "")
		}
		revision = commit(t, e, ops).State.Revision
		crashed := copyDatabase(t, path, ".revision")
		editLedger(t, crashed, `(?m)^\d{20} `, func(string) string { return fmt.Sprintf("%020d ", 1) })
		_, state := at(t, sqlite.Options{Path: crashed})
		if state.Revision < revision+1_000_000 {
			t.Fatalf("after a crash at %d an empty database would go on from %d", revision, state.Revision)
		}
	}
}

// TestClustersOfAFile: each cluster has a revision of its own, in the ledger
// too.
func TestClustersOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	for round := range 3 {
		for i, name := range []string{"one", `"two" \n`, "drei €"} {
			e := open(t, sqlite.Options{Path: path, Cluster: name})
			for n := range i + 1 {
				commit(t, e, []engine.Op{create(fmt.Sprint(round, n), "")})
			}
			state, err := e.State(t.Context())
			if want := engine.Revision(1 + (i+1)*(round+1)); err != nil || state.Revision != want || state.Compacted != 0 {
				t.Errorf("round %d: cluster %s is at %+v, want %d; %v", round, name, state, want, err)
			}
			closeNow(t, e)
		}
	}
}

// TestLeapGrowsWithTime: what was given out since an old backup was made is not known, but bounded by time.
func TestLeapGrowsWithTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e, _ := at(t, sqlite.Options{Path: path})
	commit(t, e, []engine.Op{create("a", "")})
	closeNow(t, e)
	backup := copyDatabase(t, path, "")
	tomorrow := func() time.Time { return time.Now().Add(24 * time.Hour) }
	if _, state := at(t, sqlite.Options{Path: backup, Now: tomorrow}); state.Revision < 24*3600*100_000 {
		t.Errorf("a database of yesterday goes on from %d", state.Revision)
	}
}
