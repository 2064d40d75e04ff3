// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docket-controller evaluates policies and writes policy reports. Run
// `docket-controller --help` for its subcommands.
//
// It exits with 0 after success, 1 when a check found something, and 2 when the check failed or the call was wrong.
package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/logs"
)

const name = "docket-controller"

func versionText() string { return program.Version(name) }

func main() {
	logs.Prepare()
	os.Exit(cli.Main(time.Now(), newRoot))
}

func newRoot(p cli.Process) *cobra.Command {
	root := &cobra.Command{
		Use:   name,
		Short: "Evaluate policies and write policy reports",
		Long: `Evaluate the policies of Kyverno (ClusterPolicy, ValidatingPolicy and others) and those
of Kubernetes itself for resources, and write policy reports: one for each policy and namespace.`,
		Example: `  # Check manifests before they go anywhere
  docket-controller scan --policy policies/ --resource app/

  # Look at the reports with kubectl, without a cluster: docket up serves them
  docket-controller scan --policy policies/ --resource app/ --to ~/.docket/kubeconfig --create-namespaces
  kubectl --kubeconfig ~/.docket/kubeconfig get policyreports -A`,
		Version: buildinfo.Get().Version,
	}
	cli.PrepareRoot(p, root, versionText())
	root.AddCommand(newScan(p), newRun(p), cli.NewVersion(p, name, versionText()))
	for _, command := range root.Commands() {
		program.TroubleExits(command)
	}
	return root
}
