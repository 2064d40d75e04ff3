// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// errHeld says that another process has the lock.
var errHeld = errors.New("lock is held")

// lockFile takes the lock of a database. The operating system gives it back when the process ends, however it ends. The
// file stays: removing it would let two processes lock two files of one name.
func lockFile(path string) (*os.File, error) {
	name := path + ".lock"
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: make the folder writable for user %d", classify("lock "+path, err), os.Getuid())
	}
	if err := tryLock(file); err != nil {
		defer func() { _ = file.Close() }()
		if !errors.Is(err, errHeld) {
			return nil, classify("lock "+name, err)
		}
		return nil, fmt.Errorf("%w: %s holds %s: stop it, or use another file; several servers can share a PostgreSQL database",
			engine.ErrLocked, holder(file), name)
	}
	if err := writeHolder(file); err != nil {
		return nil, errors.Join(classify("write "+name, err), file.Close())
	}
	return file, nil
}

// holder reads who wrote the lock file.
func holder(file *os.File) string {
	data, err := io.ReadAll(io.LimitReader(file, 32))
	if pid := strings.TrimSpace(string(data)); err == nil && pid != "" {
		return "process " + pid
	}
	return "a process"
}

func writeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	return err
}
