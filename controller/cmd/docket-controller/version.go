// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"

	"github.com/docket-project/docket/internal/apiserver/buildinfo"
)

// engine is the module that evaluates policies.
const engine = "github.com/kyverno/kyverno"

func versionText() string {
	build := buildinfo.Get()
	return fmt.Sprintf("docket-controller %s (commit %s of %s, engine of Kyverno %s, %s, %s)",
		build.Version, build.Commit, build.Date, engineVersion(), build.GoVersion, build.Platform)
}

// engineVersion is what the linker recorded; it records nothing in tests.
func engineVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range build.Deps {
		if module.Path == engine {
			return module.Version
		}
	}
	return "unknown"
}
