// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package remote

import "os/exec"

// detach does nothing here.
func detach(*exec.Cmd) {}
