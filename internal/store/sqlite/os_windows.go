// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far behind the text of the lock file, which others must be able
// to read: locks of Windows are mandatory.
const lockOffset = 1 << 20

// tryLock locks a file for this handle, or returns errHeld.
func tryLock(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// syncFolder does nothing: NTFS journals renames, and folders can't be synced.
func syncFolder(string) error { return nil }
