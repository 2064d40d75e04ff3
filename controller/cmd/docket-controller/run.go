// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
)

func newRun(p cli.Process) *cobra.Command {
	options := manager.NewOptions()
	command := &cobra.Command{
		Use:   "run [flags]",
		Short: "Scan a cluster in the background and keep its reports up to date",
		Long: `Evaluate the policies of a cluster for its resources, whenever one of them changes,
and keep policy reports that say what is true now: one for each policy and namespace.

Of several replicas one works and the others stand by, or, with --shards, all share the
namespaces. A report is written only if a result in it has changed. Only reports with the
label app.kubernetes.io/managed-by=docket-controller are touched, and, with
--replace-kyverno-reports, those of Kyverno. EphemeralReports of Kyverno's other controllers
are taken into them and deleted (--adopt-kyverno-results).

What policies look at beside the resource (CachedContextEntry, GlobalContextEntry, and what
policies declare themselves) is kept in memory by every replica: docs/controller/context-cache.md.

With --admission, every replica answers admission requests: policies with Enforce or Deny deny,
and those for admission only are reported: docs/controller/admission.md.`,
		Example: `  # In a pod, with the service account of deploy/controller
  docket-controller run

  # On a laptop, beside a cluster or "docket up"
  docket-controller run --kubeconfig ~/.kube/config --leader-elect=false`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if errs := options.Validate(); len(errs) > 0 {
				return cli.Usage(errors.Join(errs...))
			}
			if err := logsapi.ValidateAndApply(options.Logs, nil); err != nil {
				return cli.Usage(err)
			}
			config, err := manager.RESTConfig(options.Kubeconfig, "docket-controller/"+buildinfo.Get().Version)
			if err != nil {
				return cli.Usage(err)
			}
			engines := manager.Engines{Version: versionText(), Expressions: program.Expressions, Compiler: program.Compiler}
			err = manager.New(options, config, engines).Run(command.Context())
			return filescan.WithHint(err, cmp.Or(options.Kubeconfig, "the pod's service account"))
		},
	}
	return cli.WithSettings(p, command, options.Flags())
}
