// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package run

import "syscall"

// dieWithParent does nothing: here a `docket run` that is killed leaves its server.
func dieWithParent(*syscall.SysProcAttr) {}
