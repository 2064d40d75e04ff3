// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// initdbArguments make the data folder. Local connections need no password: the
// socket is in a folder that only the server's user and root can enter. Any user of
// the machine reaches the loopback port, so that one asks for the password.
func initdbArguments() []string {
	return []string{
		"--no-sync", "--no-instructions",
		"--username=" + superuser,
		"--auth-local=trust", "--auth-host=scram-sha-256",
		"--encoding=UTF8", "--locale=C",
		"--locale-provider=icu", "--icu-locale=en-US",
	}
}

// makeData fills dir with a new data folder: a copy of the cached one where there
// is a user cache (100 ms instead of a second or two), else fresh.
func (i *installation) makeData(ctx context.Context, dir string) error {
	cache, err := cacheDir()
	if err != nil {
		return i.initdb(ctx, dir)
	}
	key := sha256.Sum256([]byte(i.version + "\n" + strings.Join(initdbArguments(), "\n")))
	cached := filepath.Join(cache, "pgdata-"+hex.EncodeToString(key[:8]))
	if err := i.fillCache(ctx, cached); err != nil {
		return fmt.Errorf("keep a PostgreSQL data folder at %s: %w", cached, err)
	}
	return i.copyTree(cached, dir, i.runAs)
}

// cacheDir returns the folder of what is kept from one run to the next, which is there then.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "docket", "testenv")
	return dir, os.MkdirAll(dir, 0o700)
}

// fillCache makes the cached folder if it is missing. Its name appears only when it
// is complete.
func (i *installation) fillCache(ctx context.Context, cached string) error {
	unlock, err := lockFile(cached + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(cached); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The server's user may not be able to enter the cache, hence not made in place.
	fresh, err := i.mkdirTemp("docket-pgdata-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	data := filepath.Join(fresh, "data")
	if err := i.initdb(ctx, data); err != nil {
		return err
	}
	partial := cached + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := i.copyTree(data, partial, nil); err != nil {
		return err
	}
	return os.Rename(partial, cached)
}

func (i *installation) initdb(ctx context.Context, dir string) error {
	cmd := i.command(ctx, "initdb", append(initdbArguments(), "--pgdata="+dir)...)
	cmd.Dir = filepath.Dir(dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	return nil
}

// copyTree copies folders and plain files, closed to everybody but owner, which is
// the user of this process when nil. PostgreSQL insists on both.
func (i *installation) copyTree(source, target string, owner *syscall.Credential) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, relative)
		if entry.IsDir() {
			err = os.Mkdir(to, 0o700)
		} else {
			err = copyFile(path, to)
		}
		if err != nil || owner == nil {
			return err
		}
		return os.Chown(to, int(owner.Uid), int(owner.Gid))
	})
}

func copyFile(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// mkdirTemp makes a folder that the server's user owns and can reach.
func (i *installation) mkdirTemp(prefix string) (string, error) {
	dir, err := os.MkdirTemp(tempBase(i.runAs != nil), prefix)
	if err != nil {
		return "", err
	}
	if i.runAs != nil {
		if err := os.Chown(dir, int(i.runAs.Uid), int(i.runAs.Gid)); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// lockFile takes an exclusive lock that other processes respect. It ends with
// this process if not sooner. The file stays: removing it would split the lock.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
