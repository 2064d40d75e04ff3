// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docket-convert turns Kyverno's ClusterPolicies and Policies into CEL policies, and compares the results of
// both. Its exit codes are in `docket-convert --help`.
package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/controller/internal/files/convert/conversion"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/logs"
)

const name = "docket-convert"

func main() {
	logs.Prepare()
	os.Exit(cli.Main(time.Now(), newRoot))
}

const example = `  # What would become of the policies, and do the new ones say the same?
  docket-convert --policy policies/ --resource app/

  # The same for the policies and the resources of a cluster, which is only read
  docket-convert --kubeconfig ~/.kube/config --output-dir converted/

  # Few resources prove little: compare 50 variants of each as well
  docket-convert --policy policies/ --resource tests/ --variants 50

  # Only convert
  docket-convert --policy policy.yaml --output yaml`

const long = `Convert ClusterPolicies and Policies (kyverno.io) to ValidatingPolicies and
NamespacedValidatingPolicies (policies.kyverno.io), with their PolicyExceptions, and compare
the results of both for the resources of files or of a cluster.

Each rule becomes a policy of its own, since results of CEL policies name no rule. It has
the labels and annotations of the old policy, so that its results have the same severity
and category. What CEL can't say with the same meaning is refused, with the field, the
reason and what to do: no rule is converted in part. Rules that mutate, generate or verify
images are refused as well.

The comparison evaluates the old and the new policies for each resource, as a background
scan does, and compares the outcomes. Where a rule is skipped, the new policy has no
result, which counts as equal. Messages are worded by the engines, and not compared.
--variants adds resources that differ in one field from those of files: a few manifests
show little of what a policy does. Without --resource and --kubeconfig nothing is compared.

A cluster is only read. Apply the new policies yourself, with the older ones still there,
look at the reports of both, and then delete the older ones.

Exit codes: 0 all was converted, and nothing differs; 1 results differ; 2 something could
not be read, evaluated or written; 3 something was not converted, and nothing differs; 130
it was interrupted.`

func newRoot(p cli.Process) *cobra.Command {
	c := &conversion.Command{Input: &filescan.Input{Process: p}, Output: conversion.OutputNone, Proof: filescan.OutputTable}
	in := program.NewInput(c.Input)
	in.Evaluation.CompatibleOperands = true // The new policies are to say what Kyverno says of the old ones.
	var sections cliflag.NamedFlagSets
	in.AddFlags(sections.FlagSet("input"))
	addOutput(sections.FlagSet("output"), c)
	in.CacheOptions.AddFlags(sections.FlagSet("context cache"))
	root := &cobra.Command{
		Use:     name + " --policy FILE|DIR... [--resource FILE|DIR...] [--kubeconfig FILE] [flags]",
		Short:   "Convert Kyverno's older policies to CEL policies, and compare their results",
		Long:    long,
		Example: example,
		Version: buildinfo.Get().Version,
	}
	cli.PrepareRoot(p, root, program.Version(name))
	root.Args = program.OnlyFlags
	root.RunE = func(command *cobra.Command, _ []string) error {
		if err := errors.Join(append(c.Validate(), in.Apply()...)...); err != nil {
			return cli.Usage(err)
		}
		return c.Run(command.Context())
	}
	cli.WithSettings(p, root, sections)
	program.Complete(root)
	program.TroubleExits(root)
	root.AddCommand(cli.NewVersion(p, name, program.Version(name)))
	return root
}

func addOutput(fs *pflag.FlagSet, c *conversion.Command) {
	fs.StringVarP(&c.Output, "output", "o", c.Output, "Whether the new policies are printed: none or yaml. With yaml, the proof is on standard error.")
	fs.StringVar(&c.OutputDir, "output-dir", "", "Folder into which each new policy and exception is written as a file of its own. It is created; files of the same name are replaced.")
	fs.StringVar(&c.Proof, "proof", c.Proof, "Form of the proof: table, or json with all differences.")
	fs.IntVar(&c.Variants, "variants", 0, "How many variants of each resource of --resource are compared as well, at most. Each differs from it in one field.")
}
