// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"

	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// kyvernoModule is what evaluates policies.
const kyvernoModule = "github.com/kyverno/kyverno"

func versionText() string {
	build := buildinfo.Get()
	return fmt.Sprintf("docket-controller %s (commit %s of %s, engine of Kyverno %s, %s, %s)",
		build.Version, build.Commit, build.Date, kyvernoVersion(), build.GoVersion, build.Platform)
}

// kyvernoVersion is the version of Kyverno that the linker recorded; it records nothing in tests.
func kyvernoVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dependency := range build.Deps {
		if dependency.Path == kyvernoModule {
			return dependency.Version
		}
	}
	return "unknown"
}
