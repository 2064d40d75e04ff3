// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// inode tells a file from all others of this system; nil is no file.
func inode(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	}
	return ""
}

// changeTime is when the content or the owner of a file was changed; no program can set it.
func changeTime(info fs.FileInfo) (time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(stat.Ctim.Unix()), true
}
