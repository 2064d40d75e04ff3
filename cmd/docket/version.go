// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/docket-project/docket/internal/kit/buildinfo"
)

func versionText() string {
	build := buildinfo.Get()
	return fmt.Sprintf("docket %s (commit %s of %s, Kubernetes library %s, %s, %s)",
		build.Version, build.Commit, build.Date, build.Kubernetes, build.GoVersion, build.Platform)
}
