// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

const reportsResource engine.Resource = "/wgpolicyk8s.io/policyreports/"

func create(key string, data string) engine.Op {
	return engine.Op{
		Kind: engine.Create, Resource: reportsResource, Key: key,
		Value: engine.Value{Data: []byte(data), Codec: 1, Size: int32(len(data))},
	}
}

// closeNow closes an engine before the end of the test.
func closeNow(t testing.TB, e *sqlite.Engine) {
	t.Helper()
	testkit.NoError(t, e.Close())
}

// wantError checks the class of an error and words that its reader needs.
func wantError(t testing.TB, err, class error, words ...string) {
	t.Helper()
	if err == nil || class != nil && !errors.Is(err, class) {
		t.Fatalf("got error %v, want %v", err, class)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		testkit.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	notADatabase := write("text.db", []byte("kind: ConfigMap, by mistake"))
	garbage := write("garbage.db", append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0xa5}, 8192)...))
	short := write("short.db", []byte("SQLite for"))
	cases := []struct {
		name    string
		options sqlite.Options
		class   error
		words   []string
	}{
		{"no path", sqlite.Options{Cluster: "main"}, nil, []string{"path"}},
		{"no cluster", sqlite.Options{Path: filepath.Join(folder, "a.db")}, nil, []string{"cluster"}},
		{"unknown mode", sqlite.Options{Path: filepath.Join(folder, "a.db"), Cluster: "main", Synchronous: "OFF"}, nil, []string{"OFF", "FULL", "NORMAL"}},
		{"no folder", sqlite.Options{Path: filepath.Join(folder, "missing", "a.db"), Cluster: "main"}, nil, []string{filepath.Join(folder, "missing"), "create it"}},
		{"a file as folder", sqlite.Options{Path: filepath.Join(notADatabase, "a.db"), Cluster: "main"}, nil, []string{notADatabase}},
		{"a folder", sqlite.Options{Path: folder, Cluster: "main"}, nil, []string{folder, "not a regular file", "docket.db"}},
		{"no database", sqlite.Options{Path: notADatabase, Cluster: "main"}, engine.ErrCorrupt, []string{notADatabase, "restore a backup"}},
		{"a short file", sqlite.Options{Path: short, Cluster: "main"}, engine.ErrCorrupt, []string{short, "restore a backup"}},
		{"garbage behind the header", sqlite.Options{Path: garbage, Cluster: "main"}, engine.ErrCorrupt, []string{garbage, "restore a backup"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := sqlite.Open(t.Context(), c.options)
			wantError(t, err, c.class, c.words...)
		})
	}
}

func TestOpenRefusesTheDatabaseOfAnotherProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "other.db")
	sqlite.Exec(t, path, "CREATE TABLE song (title TEXT)")
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "main"})
	wantError(t, err, nil, path, "another program")
}

func TestOpenRefusesASecondProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main"})
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "other"})
	wantError(t, err, engine.ErrLocked, path, fmt.Sprintf("process %d", os.Getpid()), "stop it")
	commit(t, e, []engine.Op{create("a", "the first goes on")})
	closeNow(t, e)
	open(t, sqlite.Options{Path: path, Cluster: "main"})
}

// TestOneDatabaseByTwoNames: a symbolic link leads to the lock of the file.
func TestOneDatabaseByTwoNames(t *testing.T) {
	t.Parallel()
	path, link := filepath.Join(t.TempDir(), "docket.db"), filepath.Join(t.TempDir(), "link.db")
	testkit.NoError(t, os.Symlink(path, link))
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: link, Cluster: "main"})
	wantError(t, err, os.ErrNotExist, link, "leads nowhere")
	e := open(t, sqlite.Options{Path: path, Cluster: "main"})
	commit(t, e, []engine.Op{create("a", "of the first")})
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: link, Cluster: "main"})
	wantError(t, err, engine.ErrLocked, path, "stop it")
	wantError(t, sqlite.Replaced(link), engine.ErrLocked, path)
	closeNow(t, e)
	open(t, sqlite.Options{Path: link, Cluster: "main"})
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "main"})
	wantError(t, err, engine.ErrLocked, path)
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	e := open(t, sqlite.Options{Path: filepath.Join(folder, "docket.db"), Cluster: "main"})
	commit(t, e, []engine.Op{create("a", "")})
	files := testkit.Must(os.ReadDir(folder))(t)
	var names []string
	for _, file := range files {
		info := testkit.Must(file.Info())(t)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", file.Name(), info.Mode())
		}
		names = append(names, file.Name())
	}
	want := "docket.db docket.db-shm docket.db-wal docket.db.lock docket.db.revision"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files %s, want %s", got, want)
	}
}

// TestOddPaths: nothing in a path means anything to SQLite.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "mode=ro?.db", "file:x.db", "100%25#1.db", ":memory:", "ümläut.db"} {
		folder := t.TempDir()
		path := filepath.Join(folder, name)
		e := open(t, sqlite.Options{Path: path, Cluster: "main"})
		commit(t, e, []engine.Op{create("a", "")})
		closeNow(t, e)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
}

// TestCorrupt overwrites the middle of a database: reads fail and say so.
// Guarantee S9.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main"})
	for i := range int64(10) {
		commit(t, e, reports(i*100, 100))
	}
	closeNow(t, e)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// The first pages hold the schema and the small tables.
	const intact = 40 * 4096
	_, err = file.WriteAt(bytes.Repeat([]byte{0x5a}, int(info.Size()-intact)), intact)
	testkit.NoError(t, errors.Join(err, file.Close()))
	e, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "main"})
	if err == nil {
		defer func() { _ = e.Close() }()
		_, err = e.List(t.Context(), engine.Query{Resource: reportsResource})
	}
	wantError(t, err, engine.ErrCorrupt)
}

// TestFull: a write without space fails, changes nothing and says why; reads go
// on, and so do writes once there is space.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main", MaxBytes: 1 << 20})
	next, err := fill(t, e)
	wantError(t, err, engine.ErrFull)
	checkAll(t, e, next)
	_, err = e.Commit(t.Context(), reports(next, 100))
	wantError(t, err, engine.ErrFull)
	checkAll(t, e, next)
	closeNow(t, e)
	e = open(t, sqlite.Options{Path: path, Cluster: "main", MaxBytes: 4 << 20})
	commit(t, e, reports(next, 100))
	checkAll(t, e, next+100)
}

// fill commits batches of ten reports until that fails.
func fill(t testing.TB, e *sqlite.Engine) (committed int64, err error) {
	t.Helper()
	for committed < 100_000 {
		if _, err := e.Commit(t.Context(), reports(committed, 10)); err != nil {
			return committed, err
		}
		committed += 10
	}
	t.Fatal("the database never became full")
	return 0, nil
}

// checkAll checks that the first n reports and their rows are there, and no
// others.
func checkAll(t testing.TB, e *sqlite.Engine, n int64) {
	t.Helper()
	page := testkit.Must(e.List(t.Context(), engine.Query{Resource: reportsResource}))(t)
	usage := testkit.Must(e.Usage(t.Context()))(t)
	if int64(len(page.Rows)) != n || page.State.Revision != engine.Revision(n+1) || usage.Results != 17*n || usage.Events != n {
		t.Errorf("%d reports, state %+v, usage %+v; want %d reports", len(page.Rows), page.State, usage, n)
	}
	if dangling, err := e.Dangling(t.Context()); err != nil || dangling != 0 {
		t.Errorf("%d rows refer to nothing; %v", dangling, err)
	}
}
