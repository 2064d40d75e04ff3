// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	sqlite3 "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/docket-project/docket/internal/store/engine"
)

// classify wraps an error of the driver or the file system with its class and
// with what was being done. It is the only place that knows error codes.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	class := classOf(err)
	if class == nil || errors.Is(err, class) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, class, err)
}

func classOf(err error) error {
	var failure *sqlite3.Error
	if errors.As(err, &failure) {
		return classOfCode(failure.Code())
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return engine.ErrFull
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return engine.ErrReadOnly
	}
	return nil
}

func classOfCode(code int) error {
	switch code & 0xff {
	case sqlitelib.SQLITE_FULL:
		return engine.ErrFull
	case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_PERM:
		return engine.ErrReadOnly
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return engine.ErrCorrupt
	case sqlitelib.SQLITE_TOOBIG:
		return engine.ErrTooLarge
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_IOERR,
		sqlitelib.SQLITE_NOMEM, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PROTOCOL:
		return engine.ErrUnavailable
	}
	return nil
}

// classifyCommit is classify for the COMMIT statement. When the disk fails under it, the log may hold the whole
// transaction, and the next start would find it; everything else is known not to have happened.
func classifyCommit(err error) error {
	var failure *sqlite3.Error
	if errors.As(err, &failure) && failure.Code()&0xff == sqlitelib.SQLITE_IOERR {
		return fmt.Errorf("commit: %w: %w: %w", engine.ErrUnknownOutcome, engine.ErrUnavailable, err)
	}
	return classify("commit", err)
}
