// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package statedir

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses a folder of another user, even for root: its owner could read the secrets in it, or replace them.
func checkOwner(dir string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if us := os.Geteuid(); ok && int(stat.Uid) != us {
		return fmt.Errorf("%s belongs to user %d, and this is user %d: choose a folder of your own, or change the owner with `chown %d %s`",
			dir, stat.Uid, us, us, Quote(dir))
	}
	return nil
}
