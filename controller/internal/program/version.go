// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// Version is what a program says about its build.
func Version(program string) string {
	build := buildinfo.Get()
	_, kyverno, _ := strings.Cut(base.EngineVersion(), " ")
	return fmt.Sprintf("%s %s (commit %s of %s, engine of Kyverno %s, %s, %s)",
		program, build.Version, build.Commit, build.Date, cmp.Or(kyverno, "unknown"), build.GoVersion, build.Platform)
}
