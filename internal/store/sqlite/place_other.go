// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sqlite

import (
	"io/fs"
	"time"
)

// inode is not known here, so that copies are not recognised by it.
func inode(fs.FileInfo) string { return "" }

// changeTime is not known here.
func changeTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
