// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	sqlitelib "modernc.org/sqlite/lib"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestClassOfCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]error{
		sqlitelib.SQLITE_FULL:             engine.ErrFull,
		sqlitelib.SQLITE_READONLY:         engine.ErrReadOnly,
		sqlitelib.SQLITE_READONLY_DBMOVED: engine.ErrReadOnly,
		sqlitelib.SQLITE_CORRUPT:          engine.ErrCorrupt,
		sqlitelib.SQLITE_CORRUPT_INDEX:    engine.ErrCorrupt,
		sqlitelib.SQLITE_NOTADB:           engine.ErrCorrupt,
		sqlitelib.SQLITE_TOOBIG:           engine.ErrTooLarge,
		sqlitelib.SQLITE_BUSY:             engine.ErrUnavailable,
		sqlitelib.SQLITE_BUSY_SNAPSHOT:    engine.ErrUnavailable,
		sqlitelib.SQLITE_IOERR_FSYNC:      engine.ErrUnavailable,
		sqlitelib.SQLITE_CANTOPEN:         engine.ErrUnavailable,
		sqlitelib.SQLITE_CONSTRAINT:       nil,
		sqlitelib.SQLITE_ERROR:            nil,
	} {
		if got := classOfCode(code); !errors.Is(got, want) {
			t.Errorf("code %d is %v, want %v", code, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err, class error
		text       string
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}, engine.ErrFull, "do it: database is full: open x: no space left on device"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, engine.ErrReadOnly, "do it: database is read-only: open x: read-only file system"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, engine.ErrReadOnly, "do it: database is read-only: open x: permission denied"},
		{context.DeadlineExceeded, context.DeadlineExceeded, "do it: context deadline exceeded"},
		{engine.ErrClosed, engine.ErrClosed, "do it: engine is closed"},
		{fmt.Errorf("inner: %w", engine.ErrCompacted), engine.ErrCompacted, "do it: inner: revision has been compacted"},
	}
	for _, c := range cases {
		got := classify("do it", c.err)
		if !errors.Is(got, c.class) || !errors.Is(got, c.err) || got.Error() != c.text {
			t.Errorf("%v became %q, want %q of class %v", c.err, got, c.text, c.class)
		}
	}
	if classify("do it", nil) != nil {
		t.Error("no error became one")
	}
}

// TestClassIsNamedOnce: an error of the driver comes with its class once, however
// often it is wrapped on its way.
func TestClassIsNamedOnce(t *testing.T) {
	t.Parallel()
	err := classify("outer", classify("inner", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}))
	if n := strings.Count(err.Error(), engine.ErrFull.Error()); n != 1 {
		t.Errorf("%q names its class %d times", err, n)
	}
}
