// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginecmd"
	"github.com/docket-project/docket/internal/apiserver/buildinfo"
)

func versionText() string {
	build := buildinfo.Get()
	return fmt.Sprintf("docket-controller %s (commit %s of %s, engine of Kyverno %s, %s, %s)",
		build.Version, build.Commit, build.Date, enginecmd.Version(), build.GoVersion, build.Platform)
}
