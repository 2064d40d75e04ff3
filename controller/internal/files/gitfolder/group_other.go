// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package gitfolder

import "os/exec"

// asGroup does nothing: here the processes of git end once they can't read or write any more.
func asGroup(*exec.Cmd) {}
