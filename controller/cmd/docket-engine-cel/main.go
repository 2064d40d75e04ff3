// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docket-engine-cel evaluates Kyverno's policies in CEL for docket-controller, which starts it with
// --engine kyverno-cel=PATH. It has nothing of our code for Kyverno's classic engine, so that it can be built with a
// version of Kyverno that has no classic engine any more.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/cel"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginecmd"
	"github.com/docket-project/docket/internal/apiserver/buildinfo"
	"github.com/docket-project/docket/internal/cli"
	"github.com/docket-project/docket/internal/logs"
)

func main() {
	logs.Prepare()
	os.Exit(cli.Main(time.Now(), newRoot))
}

func newRoot(p cli.Process) *cobra.Command {
	build := buildinfo.Get()
	version := fmt.Sprintf("docket-engine-cel %s (commit %s of %s, engine of Kyverno %s, %s, %s)",
		build.Version, build.Commit, build.Date, enginecmd.Version(), build.GoVersion, build.Platform)
	root := &cobra.Command{
		Use:     "docket-engine-cel",
		Short:   "Evaluate Kyverno's policies in CEL for docket-controller",
		Long:    "Evaluate Kyverno's policies in CEL for docket-controller, which starts this program itself.",
		Example: "  docket-controller run --engine kyverno-cel=/usr/local/bin/docket-engine-cel",
		Version: build.Version,
	}
	cli.PrepareRoot(p, root, version)
	root.AddCommand(enginecmd.New(map[string]enginecmd.NewCompiler{
		policy.CELEngine: func(setup *base.Setup) (policy.Compiler, error) { return cel.NewCompiler(setup), nil },
	}), cli.NewVersion(p, "docket-engine-cel", version))
	return root
}
