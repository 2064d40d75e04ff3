// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"io"

	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// ErrOwnTools tells that a database has tools of its own for what was asked.
var ErrOwnTools = errors.New("it is not an SQLite database")

// ErrNoBackup tells that what was given to [Restore] can't be.
var ErrNoBackup = sqlite.ErrNoBackup

// Backup writes a copy of the SQLite database that a URL names into the file to, which must not exist; servers
// go on working. For other databases it returns ErrOwnTools.
func Backup(ctx context.Context, rawURL, to string) error {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	return sqlite.Backup(ctx, path, to)
}

// BackupTo writes the copy to out; see [sqlite.BackupTo]. For other databases it returns ErrOwnTools.
func BackupTo(ctx context.Context, rawURL string, out io.Writer) error {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	return sqlite.BackupTo(ctx, path, out)
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
