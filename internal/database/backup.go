// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// ErrOwnTools tells that a database has tools of its own for what was asked.
var ErrOwnTools = errors.New("it is not an SQLite database")

// Backup writes a copy of the SQLite database that a URL names into the file to, which must not exist; servers
// go on working. For other databases it returns ErrOwnTools.
func Backup(ctx context.Context, rawURL, to string) error {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	return sqlite.Backup(ctx, path, to)
}

// BackupTo writes the copy to out. Until it is checked it is a file beside the database. Nothing of it is
// left when out breaks, which ends a process without further ado if it is standard output.
func BackupTo(ctx context.Context, rawURL string, out io.Writer) (err error) {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	copied := fmt.Sprintf("%s.backup-%d", path, os.Getpid())
	// Of a process of our number that was killed: in a container numbers come again soon.
	if err := removed(copied); err != nil {
		return err
	}
	if err := sqlite.Backup(ctx, path, copied); err != nil {
		return err
	}
	file, err := os.Open(copied)
	if err != nil {
		return errors.Join(err, os.Remove(copied))
	}
	_ = os.Remove(copied) // Where open files can't be removed, it is done below.
	defer func() { err = errors.Join(err, file.Close(), removed(copied)) }()
	_, err = io.Copy(out, file)
	return err
}

// removed removes a file, if it is there.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Restore puts what Backup wrote in the place of the SQLite database that a URL names; see [sqlite.Restore].
// For other databases it returns ErrOwnTools.
func Restore(ctx context.Context, backup io.Reader, rawURL string, atNextStart bool) error {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	return sqlite.Restore(ctx, backup, path, atNextStart)
}

// Replaced tells the database that a URL names that it was put there by other means: all clients list again.
// No server may use it.
func Replaced(ctx context.Context, rawURL string, options Options) error {
	if path, err := sqlitePath(rawURL); err == nil {
		return sqlite.Replaced(path)
	} else if !errors.Is(err, ErrOwnTools) || IsEtcd(rawURL) {
		return err
	}
	u, err := parse(rawURL)
	if err != nil {
		return err
	}
	o, err := postgresOptions(u, options)
	if err != nil {
		return err
	}
	return postgres.Replaced(ctx, o)
}

// sqlitePath returns the file that a URL names, and ErrOwnTools for other databases.
func sqlitePath(rawURL string) (string, error) {
	if IsEtcd(rawURL) {
		return "", ErrOwnTools
	}
	u, err := parse(rawURL)
	if err != nil {
		return "", err
	}
	if u.Scheme != schemeSQLite {
		return "", ErrOwnTools
	}
	o, err := sqliteOptions(u, Options{})
	return o.Path, err
}
