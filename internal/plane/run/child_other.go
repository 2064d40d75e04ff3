// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package run

import (
	"os"
	"os/exec"
)

var forwarded []os.Signal

// isolate does nothing: here there are no process groups to be had.
func isolate(*exec.Cmd) {}

// terminate ends the server at once: here there is no other way.
func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill ends the server at once.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // It may have ended just now.
