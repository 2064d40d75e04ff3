// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/docket-project/docket/internal/store/engine"
)

// The files of a restore, beside the database.
const (
	// partialSuffix is of a file that is being written. It is removed by who finds it.
	partialSuffix = ".partial"
	// restoreSuffix is of a backup that the next who opens the database puts in its place.
	restoreSuffix = ".restore"
	// replacedSuffix is of the database that was there before.
	replacedSuffix = ".before-restore"
)

// Backup writes the database at path, all clusters, as it is at one moment into the file to, which must not
// exist yet. Servers go on working meanwhile. The file has no free pages and no log, and is checked before it
// gets its name; it needs as much space as the database.
func Backup(ctx context.Context, path, to string) (err error) {
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s exists: give another name, or remove it", to)
	}
	partial := to + partialSuffix
	// Also because VACUUM INTO would make it readable by others.
	if err := create(partial); err != nil {
		return classify("write "+partial, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if err := vacuumInto(ctx, path, partial); err != nil {
		return withRemedy(err)
	}
	if err := checkCopy(ctx, partial); err != nil {
		return fmt.Errorf("check the copy of %s: %w", path, err)
	}
	if err := settle(partial, to); err != nil {
		return classify("write "+to, err)
	}
	return nil
}

// BackupTo writes such a copy to out. Until it is checked it is a file beside the database. Nothing of it is
// left when out breaks, which ends a process without further ado if it is standard output.
func BackupTo(ctx context.Context, path string, out io.Writer) (err error) {
	copied := fmt.Sprintf("%s.backup-%d", path, os.Getpid())
	// Of a process of our number that was killed: in a container numbers come again soon.
	if err := removed(copied); err != nil {
		return err
	}
	if err := Backup(ctx, path, copied); err != nil {
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

// vacuumInto copies what one transaction sees.
func vacuumInto(ctx context.Context, path, to string) (err error) {
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return fmt.Errorf("open %s: %w: the file is missing or empty", path, engine.ErrMissing)
	}
	if err := checkFile(path); err != nil {
		return err
	}
	c, err := connect(path, commonPragmas(defaultCacheBytes)...)
	if err != nil {
		return classify("open "+path, err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := (&writer{conn: c}).isOurs(path); err != nil {
		return err
	}
	_, err = c.raw.(driver.ExecerContext).ExecContext(ctx, "VACUUM INTO ?", []driver.NamedValue{{Ordinal: 1, Value: to}})
	return classify("copy "+path+" to "+to, err)
}

// ErrNoBackup says that what was given to be restored is no database of ours, or one that this version can't read.
var ErrNoBackup = errors.New("it is not a backup of Docket that can be restored")

// Restore puts a backup in the place of the database at path, and keeps the earlier database (PATH.before-restore).
// Resource versions leap ahead, so that clients list again.
//
// The backup is checked before anything is changed. No server may use the database, unless atNextStart
// leaves the backup beside it (PATH.restore), for the server to take when it starts next.
func Restore(ctx context.Context, backup io.Reader, path string, atNextStart bool) (err error) {
	if path, err = realPath(path); err != nil {
		return err
	}
	if err := checkFolder(path); err != nil {
		return err
	}
	if !atNextStart {
		lock, err := lockFile(path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	partial := path + restoreSuffix + partialSuffix
	if err := receive(partial, backup); err != nil {
		return errors.Join(classify("write "+partial, err), os.Remove(partial))
	}
	if err := checkCopy(ctx, partial); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNoBackup, err), os.Remove(partial))
	}
	// The copy of an earlier restore, before its name is needed: a log of it must not stay beside the next one.
	for _, stale := range []string{path + replacedSuffix + "-wal", path + replacedSuffix} {
		if err := removed(stale); err != nil {
			return classify("restore "+path, err)
		}
	}
	if err := settle(partial, path+restoreSuffix); err != nil {
		return classify("write "+path+restoreSuffix, err)
	}
	if atNextStart {
		return nil
	}
	return takeRestored(path)
}

// Replaced tells the database at path that its files were put there by other means than [Restore], such as a
// snapshot of the volume: resource versions leap ahead when it is opened next. No server may use it.
func Replaced(path string) (err error) {
	if path, err = realPath(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("open %s: %w: %w", path, engine.ErrMissing, err)
	}
	lock, err := lockFile(path)
	if err != nil {
		return err
	}
	return errors.Join(classify("open "+path, distrust(path)), lock.Close())
}

// takeRestored puts a backup that waits in the place of the database. The caller holds the lock. It can be interrupted
// between any two steps; the next call continues. The log goes first: it must never be beside a database that it does
// not belong to.
func takeRestored(path string) error {
	if _, err := os.Stat(path + restoreSuffix); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := distrust(path); err != nil {
		return classify("restore "+path, err)
	}
	for _, step := range [][2]string{
		{path + "-wal", path + replacedSuffix + "-wal"},
		{path, path + replacedSuffix},
		{path + restoreSuffix, path},
	} {
		if err := os.Rename(step[0], step[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return classify("restore "+path, err)
		}
	}
	// Rebuilt from the log.
	return classify("restore "+path, errors.Join(removed(path+"-shm"), syncFolder(filepath.Dir(path))))
}

// checkCopy looks whether a file is a whole database of ours that this version can read. Nobody else uses the file.
func checkCopy(ctx context.Context, path string) (err error) {
	if err := checkFile(path); err != nil {
		return err
	}
	c, err := connect(path, commonPragmas(defaultCacheBytes)...)
	if err != nil {
		return classify("open "+path, err)
	}
	defer func() {
		// A copy of a database in use may come with a log, of which nothing may be left beside it.
		_, mode := c.pragma("PRAGMA journal_mode = DELETE")
		err = errors.Join(err, classify("close "+path, errors.Join(mode, c.close())))
	}()
	if err := (&writer{conn: c}).isOurs(path); err != nil {
		return err
	}
	found, err := c.pragma("PRAGMA quick_check(1)")
	if err != nil {
		return classify("check "+path, err)
	}
	if len(found) == 0 || text(found[0]) != "ok" {
		return fmt.Errorf("check %s: %w: %v", path, engine.ErrCorrupt, found)
	}
	return readable(ctx, c, path)
}

// receive writes what is read into a new file of mode 0600.
func receive(path string, from io.Reader) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, from)
	return err
}

// create makes an empty file of mode 0600 in the place of one that was left behind.
func create(path string) error {
	if err := removed(path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// removed removes a file, if it is there.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// settle gives a finished file its name, durably.
func settle(partial, path string) (err error) {
	file, err := os.OpenFile(partial, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}
