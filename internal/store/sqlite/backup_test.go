// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// backedUp is a database with one object in its backup, and one more since.
type backedUp struct {
	engine       *sqlite.Engine
	path, backup string
	given        engine.Revision
	// before is how many reports there were before the restore.
	before int
	// restored is how many there are afterwards.
	restored int
}

func newBackedUp(t *testing.T) *backedUp {
	t.Helper()
	b := &backedUp{before: 2, restored: 1, path: filepath.Join(t.TempDir(), "docket.db"), backup: filepath.Join(t.TempDir(), "backup.db")}
	b.engine, _ = at(t, sqlite.Options{Path: b.path})
	commit(t, b.engine, []engine.Op{create("a", "")})
	testkit.NoError(t, sqlite.Backup(t.Context(), b.path, b.backup))
	commit(t, b.engine, []engine.Op{create("b", "")})
	state := testkit.Must(b.engine.State(t.Context()))(t)
	b.given = state.Revision
	return b
}

func (b *backedUp) file(t *testing.T) *bytes.Reader {
	t.Helper()
	data := testkit.Must(os.ReadFile(b.backup))(t)
	return bytes.NewReader(data)
}

// wantRestored opens the database and wants what the backup has, and a leap.
func (b *backedUp) wantRestored(t *testing.T) {
	t.Helper()
	e, state := at(t, sqlite.Options{Path: b.path})
	if state.Revision < b.given+1_000_000 || state.Compacted != state.Revision {
		t.Errorf("revision %d, compacted %d: no leap from %d", state.Revision, state.Compacted, b.given)
	}
	wantReports(t, e, b.restored)
	closeNow(t, e)
	// The earlier database is whole, with its log if it had one.
	before, _ := at(t, sqlite.Options{Path: b.path + ".before-restore"})
	wantReports(t, before, b.before)
}

func TestBackup(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	info, err := os.Stat(b.backup)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
	}
	if names, err := filepath.Glob(filepath.Dir(b.backup) + "/*"); err != nil || len(names) != 1 {
		t.Errorf("the backup's folder has %v (%v), want one file", names, err)
	}
	copied, _ := at(t, sqlite.Options{Path: copyDatabase(t, b.backup, "")})
	wantReports(t, copied, 1)
}

// wantReports wants as many reports, and that they are whole.
func wantReports(t *testing.T, e *sqlite.Engine, n int) {
	t.Helper()
	page, err := e.List(t.Context(), engine.Query{Resource: reportsResource})
	if err != nil || len(page.Rows) != n {
		t.Errorf("%d reports (%v), want %d", len(page.Rows), err, n)
	}
	if dangling, err := e.Dangling(t.Context()); err != nil || dangling != 0 {
		t.Errorf("%d rows refer to nothing; %v", dangling, err)
	}
}

// TestRestoreBackup restores in the three ways that there are.
func TestRestoreBackup(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(*testing.T, *backedUp){
		"closed": func(t *testing.T, b *backedUp) {
			closeNow(t, b.engine)
			testkit.NoError(t, sqlite.Restore(t.Context(), b.file(t), b.path, false))
		},
		"in use": func(t *testing.T, b *backedUp) {
			testkit.NoError(t, sqlite.Restore(t.Context(), b.file(t), b.path, true))
			wantReports(t, b.engine, 2) // Until it starts again.
			closeNow(t, b.engine)
		},
		"ended by a signal": func(t *testing.T, b *backedUp) {
			b.path = copyDatabase(t, b.path, "", "-wal", ".revision")
			testkit.NoError(t, sqlite.Restore(t.Context(), b.file(t), b.path, false))
		},
		"the second time": func(t *testing.T, b *backedUp) {
			to := copyDatabase(t, b.path, "", "-wal", ".revision")
			commit(t, b.engine, []engine.Op{create("c", "")})
			b.before = 3
			closeNow(t, b.engine)
			for _, part := range []string{"", "-wal"} { // What a first restore of an ended server leaves.
				rename(t, to+part, b.path+".before-restore"+part)
			}
			testkit.NoError(t, sqlite.Restore(t.Context(), b.file(t), b.path, false))
		},
		"nothing written since": func(t *testing.T, b *backedUp) {
			b.backup += "2"
			testkit.NoError(t, sqlite.Backup(t.Context(), b.path, b.backup))
			closeNow(t, b.engine)
			testkit.NoError(t, sqlite.Restore(t.Context(), b.file(t), b.path, false))
			b.restored = 2
		},
		"interrupted": func(t *testing.T, b *backedUp) {
			closeNow(t, b.engine)
			rename(t, b.path, b.path+".before-restore")
			rename(t, b.backup, b.path+".restore")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackedUp(t)
			restore(t, b)
			b.wantRestored(t)
		})
	}
}

// TestReplaced: after a snapshot of the whole folder nothing else would show that it went back.
func TestReplaced(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	closeNow(t, b.engine)
	snapshot := copyDatabase(t, b.path, "", ".revision")
	testkit.NoError(t, sqlite.Replaced(snapshot))
	if _, state := at(t, sqlite.Options{Path: snapshot}); state.Revision < b.given+1_000_000 {
		t.Errorf("revision %d: no leap from %d", state.Revision, b.given)
	}
	wantError(t, sqlite.Replaced(filepath.Join(t.TempDir(), "nope.db")), engine.ErrMissing, "nope.db")
}

// TestRestoreRefuses: nothing is changed by what can't be restored, and nothing is left behind.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	commit(t, b.engine, reports(0, 200))
	b.given += 200
	b.backup += "2"
	testkit.NoError(t, sqlite.Backup(t.Context(), b.path, b.backup))
	whole := testkit.Must(os.ReadFile(b.backup))(t)
	middle := len(whole) / 2 / 4096 * 4096
	newer := copyDatabase(t, b.backup, "")
	sqlite.Exec(t, newer, "UPDATE revision SET min_reader = 99")
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	sqlite.Exec(t, foreign, "CREATE TABLE t (a)")
	read := func(path string) []byte {
		return testkit.Must(os.ReadFile(path))(t)
	}
	wantError(t, sqlite.Restore(t.Context(), b.file(t), b.path, false), engine.ErrLocked, "holds")
	closeNow(t, b.engine)
	for name, test := range map[string]struct {
		backup []byte
		class  error
		want   string
	}{
		"nothing":                 {nil, nil, "another program"},
		"no database":             {[]byte("kind: List\n" + strings.Repeat("#", 9000)), engine.ErrCorrupt, "does not start like"},
		"cut off":                 {whole[:len(whole)/2], engine.ErrCorrupt, "not a backup of Docket"},
		"of another program":      {read(foreign), nil, "another program"},
		"of a newer version":      {read(newer), engine.ErrSchema, "format 99"},
		"with a page of nonsense": {slices.Concat(whole[:middle], bytes.Repeat([]byte{7}, 4096), whole[middle+4096:]), engine.ErrCorrupt, "not a backup of Docket"},
	} {
		err := sqlite.Restore(t.Context(), bytes.NewReader(test.backup), b.path, false)
		if test.class != nil && !errors.Is(err, test.class) || !errors.Is(err, sqlite.ErrNoBackup) || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "restore a backup,") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	e, state := at(t, sqlite.Options{Path: b.path})
	if state.Revision != b.given {
		t.Errorf("revision %d after refused restores, want %d", state.Revision, b.given)
	}
	wantReports(t, e, 202)
	if left, err := filepath.Glob(b.path + ".*restore*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	wantError(t, sqlite.Backup(t.Context(), filepath.Join(t.TempDir(), "nope.db"), b.backup+"2"), engine.ErrMissing, "nope.db")
	if err := sqlite.Backup(t.Context(), b.path, b.backup); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("onto a file: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := sqlite.Backup(ended, b.path, b.backup+"2"); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if names, err := filepath.Glob(b.backup + "*"); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v (%v)", names, err)
	}
}
