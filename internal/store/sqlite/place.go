// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A snapshot of a folder, a volume or a virtual machine brings back the ledger together with the database, so that
// nothing in them shows that time went back. What can't be put back is who the files are: a copy has other inodes, or,
// if it was written over the old files, was changed at another time than the ledger says, and a restored disk comes
// with another boot of the system. Where one of them differs, nobody knows what was given out since. That also costs a
// list after a reboot, and after a move to another machine, which is cheap beside events that are lost forever.

// unnoticed is how much later than it says the ledger may have been changed: for the clocks of file systems, which
// go in steps, and for the time between taking the time and writing it.
const unnoticed = 2 * time.Second

// bootID is a file of Linux, which has another text after each boot. Other systems don't have it.
const bootID = "/proc/sys/kernel/random/boot_id"

// identity says who the files of a database are; it has no line breaks.
func identity(database string, ledger *os.File) (string, error) {
	boot, err := os.ReadFile(bootID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	of, err := os.Stat(database)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // It may be about to be restored.
		return "", err
	}
	own, err := ledger.Stat()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("boot=%s database=%s ledger=%s", strings.TrimSpace(string(boot)), inode(of), inode(own)), nil
}

// moved says why the files of a database are not those that the ledger was written for, at a time; "" if they are.
func moved(database string, ledger *os.File, was string, written time.Time) (string, error) {
	is, err := identity(database, ledger)
	if err != nil {
		return "", err
	}
	if is != was {
		return "the files were copied or restored, or the system was started anew since they were written", nil
	}
	info, err := ledger.Stat()
	if err != nil {
		return "", err
	}
	if changed, ok := changeTime(info); ok && changed.Sub(written).Abs() > unnoticed {
		return "the files were written by somebody else since", nil
	}
	return "", nil
}
