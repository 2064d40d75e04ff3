// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docket keeps Kubernetes policy reports in a SQL database and serves them
// as ordinary Kubernetes objects. Run `docket --help` for its subcommands.
//
// It exits with 0 after success, 1 after a failure, and 2 when it was called in a
// wrong way; `docket conformance` also with 2 when it could not complete the examination.
package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/logs"
)

func main() {
	logs.Prepare()
	os.Exit(cli.Main(time.Now(), newRoot))
}

func newRoot(p cli.Process) *cobra.Command {
	root := &cobra.Command{
		Use:   "docket",
		Short: "Keep Kubernetes policy reports in SQL and serve them as Kubernetes objects",
		Long: `Docket keeps policy reports in a SQL database instead of etcd, and serves them as
ordinary Kubernetes objects: kubectl, Kyverno and other clients see no difference.`,
		Example: `  # Try it on this machine, with reports to look at, without a cluster
  docket up --demo

  # Serve the reports of a cluster from PostgreSQL
  docket serve --database 'postgres://docket@db:5432/docket?sslmode=verify-full'`,
		Version:          buildinfo.Get().Version,
		PersistentPreRun: warnOfPasswords,
	}
	cli.PrepareRoot(p, root, versionText())
	root.AddCommand(newUp(p), newServe(p), newRun(p), newGateway(p), newBootstrap(p), newMigrate(p), newBackup(p), newRestore(p), newConformance(p), newResults(p), newConsole(p), cli.NewVersion(p, "docket", versionText()))
	return root
}
