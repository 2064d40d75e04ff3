// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/docket-project/docket/internal/apiserver/buildinfo"
	"github.com/docket-project/docket/internal/cli"
)

func newVersion(p cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print what this binary was built from",
		Example: "  docket version",
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Out, versionText())
			return err
		},
	}
}

func versionText() string {
	build := buildinfo.Get()
	return fmt.Sprintf("docket %s (commit %s of %s, Kubernetes library %s, %s, %s)",
		build.Version, build.Commit, build.Date, build.Kubernetes, build.GoVersion, build.Platform)
}
