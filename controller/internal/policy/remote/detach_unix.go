// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package remote

import (
	"os/exec"
	"syscall"
)

// detach keeps signals of a terminal from the process: its parent gets them, and ends it.
func detach(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
