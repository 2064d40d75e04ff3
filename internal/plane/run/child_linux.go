// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import "syscall"

// dieWithParent ends the server even when `docket run` is killed.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
