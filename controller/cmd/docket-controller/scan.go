// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"

	apireport "github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
)

const scanExample = `  # Check manifests; the exit code says whether anything fails
  docket-controller scan --policy policies/ --resource app/
  kubectl kustomize overlays/prod | docket-controller scan --policy policies/ --resource -

  # Findings in a pipeline, with the files and lines of the resources
  docket-controller scan --policy policies/ --resource app/ --output sarif > findings.sarif

  # The reports, as kubectl would show them
  docket-controller scan --policy policies/ --resource app/ --output yaml

  # Into the server of docket up on this machine
  docket-controller scan --policy policies/ --resource app/ --to ~/.docket/kubeconfig --create-namespaces

  # What would new policies say about a cluster?
  docket-controller scan --policy policies/ --kubeconfig ~/.kube/config

  # What would the policies of a cluster say about files, if they were applied to it?
  docket-controller scan --resource app/ --kubeconfig ~/.kube/config`

const scanLong = `Evaluate policies once: for resources in files, or for those of a cluster.

It prints a table, the reports as YAML or JSON, or findings for pipelines: SARIF 2.1.0,
JUnit XML, and commands that GitHub shows beside the lines of a pull request. With --to it
also writes the reports into a server. All policies that --policy names are evaluated, also those for admission
only (background: false). Without --policy they are those of the cluster, with their
exceptions; for resources of the cluster, those that are for existing resources.

Files hold YAML or JSON, with as many objects as they like; of a folder all files below it
that end in .yaml, .yml or .json are read, - is standard input. Namespaced resources without
a namespace are in that of --namespace, or in default; those with a generateName get a name
that ends in a number. Each definition of a resource is evaluated, such as those of several
folders. Patches that a kustomization names, and what is no Kubernetes object, are left out.
The labels of a namespace are those of the Namespace among the resources. Scopes and plurals
of custom resources are those of the CustomResourceDefinition among the resources; without
one they are guessed.
Images are verified with --registry only: without it, no registry is asked.
What policies look up is answered from the resources of the files, as an API server would,
and with --kubeconfig from that cluster if they don't have it (--lookup). The same resources
are in the entries of the context cache (CachedContextEntry, GlobalContextEntry) among the
policies or resources, or in the cluster.

Reports in a server: the scan replaces what it is about, as a whole. From files, it is about
its policies in all namespaces that its resources are in, and outside of namespaces if it
has resources there. From a cluster, it is about its policies everywhere, or in the namespaces of
--namespace; without --policy and --namespace about all reports that docket-controller
wrote. What docket-controller wrote with other values of --split-policy-report or
--reports-api is moved. Reports of others are never touched. Don't use --to with a server
whose reports ` + "`docket-controller run`" + ` keeps.

What the scan does not evaluate it names on standard error: files that hold something else,
rules that validate nothing, policies that apply to none of the resources (an error with
--require-match). A document that can't be read is a finding with its file and line, and a
policy that can't be, or has a field that Kyverno doesn't have, gives an error for what it matches:
everything else is evaluated. --strict stops at the first of them.

Failures of policies that only audit or warn count like others; with --audit-warn they are
warnings. With --to, too, failures set the exit code: --fail-on none is for jobs that only
write reports.

Exit codes: 0 all results are pass, skip or warn, or fail below --fail-on; 1 something fails; 2 something could not
be evaluated, read or written (also if other things fail); 130 it was interrupted.`

func newScan(p cli.Process) *cobra.Command {
	c := &filescan.Command{
		Input: filescan.Input{Process: p}, Output: filescan.OutputTable, FailOn: string(apireport.SeverityInfo),
		Split: true, API: string(report.WGPolicy), Version: buildinfo.Get().Version,
	}
	in := program.NewInput(&c.Input)
	var sections cliflag.NamedFlagSets
	in.AddFlags(sections.FlagSet("input"))
	addScanOutput(sections.FlagSet("output"), c)
	in.CacheOptions.AddFlags(sections.FlagSet("context cache"))
	in.RegistryOptions.AddFlags(sections.FlagSet("image registries"))
	command := &cobra.Command{
		Use:     "scan --policy FILE|DIR... [--resource FILE|DIR...] [--kubeconfig FILE] [flags]",
		Short:   "Evaluate policies once, for files or for a cluster",
		Long:    scanLong,
		Example: scanExample,
		Args:    program.OnlyFlags,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := errors.Join(append(c.Validate(), in.Apply()...)...); err != nil {
				return cli.Usage(err)
			}
			return c.Run(command.Context())
		},
	}
	command = cli.WithSettings(p, command, sections)
	program.Complete(command)
	return command
}

func addScanOutput(fs *pflag.FlagSet, c *filescan.Command) {
	fs.StringVarP(&c.Output, "output", "o", c.Output, "What is printed: table; the reports as yaml or json; or findings as sarif, junit or github (workflow commands). Paths in findings are relative to the current folder.")
	fs.StringVar(&c.FailOn, "fail-on", c.FailOn, "The lowest severity for which a failure sets the exit code to 1: critical, high, medium, low or info; none if no failure does, as in a job that only writes reports. Policies without a severity count as info. Errors always count.")
	cli.SuggestFor(fs, "fail-on", "severity", "exit-code", "exit-zero", "soft-fail")
	fs.BoolVar(&c.AuditWarn, "audit-warn", false, "Make warnings of failures that admission would let pass: those of policies, rules and bindings that audit or warn only. Warnings don't set the exit code.")
	fs.BoolVar(&c.RequireMatch, "require-match", false, "Exit with code 2 if a policy applies to none of the resources.")
	fs.BoolVar(&c.Strict, "strict", false, "Stop at the first document that can't be read, and the first policy that can't be evaluated. Without it, everything else is evaluated before the exit code is 2.")
	fs.BoolVar(&c.All, "all", false, "Show all results and policies in the table, not only failures, warnings and errors, and the policies that have some.")
	fs.StringVar(&c.To, "to", "", "Kubeconfig of a server to write the reports into.")
	fs.BoolVar(&c.CreateNamespaces, "create-namespaces", false, "Create the namespaces of reports that the server of --to does not have.")
	fs.BoolVar(&c.Split, "split-policy-report", c.Split, "Make a report for each policy and namespace. If false, one for each namespace.")
	fs.StringVar(&c.API, "reports-api", c.API, "API group of the reports: "+string(report.WGPolicy)+" or "+string(report.OpenReports)+".")
}
