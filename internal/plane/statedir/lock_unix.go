// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// takeLock locks a file until it is closed or the process ends, however it ends.
// The file has the process ID, for the error messages of others.
func takeLock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(file)
		return nil, errors.Join(fmt.Errorf("%w (process %s); stop it, or give another folder",
			ErrInUse, strings.TrimSpace(string(holder))), file.Close())
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}
