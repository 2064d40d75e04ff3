// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/controller/internal/collection"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/internal/cli"
	"github.com/docket-project/docket/internal/progress"
)

// testFlags are those of `docket-controller test`.
type testFlags struct {
	process cli.Process

	dir, allow              string
	throughReports, details bool
	workers                 int
}

func newTest(p cli.Process) *cobra.Command {
	f := testFlags{process: p}
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("tests")
	fs.StringVar(&f.dir, "policies-dir", "", "Folder of a collection of policies, with its files kyverno-test.yaml. Required.")
	fs.StringVar(&f.allow, "allow", "", "File with the results that may be missing. A line for each: `test file, policy, rule, resource: reason`, as they are printed.")
	fs.BoolVar(&f.throughReports, "through-reports", false, "Compare the results as they are read back from the reports, one for each policy and namespace, that are made of them.")
	fs.BoolVar(&f.details, "details", false, "Name each test file that is left out.")
	fs.IntVar(&f.workers, "workers", 0, "Test files that are run at a time; 0 for one for each core.")
	command := &cobra.Command{
		Use:   "test --policies-dir DIR [flags]",
		Short: "Run the test files of a collection of policies",
		Long: `Run the test files (kyverno-test.yaml) of a collection of policies, and say where the
results differ from those that they expect.

Results that are expected and don't come are missing, which is a failure, unless --allow lists them.
Tests that need mocks (API calls, ConfigMaps, image registries, user info, values of variables)
or that are about other things than validation are left out; the reasons are counted.

Exit codes: 0 all agree; 1 something disagrees, or is missing and not allowed, or a test file
is broken; 2 trouble.`,
		Example: `  git clone https://github.com/kyverno/policies
  docket-controller test --policies-dir policies

  # The same again when the results are read back from reports
  docket-controller test --policies-dir policies --through-reports`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if f.dir == "" {
				return cli.Usage(errors.New("--policies-dir: is required; give the folder of a collection of policies"))
			}
			if f.workers < 0 {
				return cli.Usage(errors.New("--workers: must not be negative"))
			}
			return f.run(command.Context())
		},
	}
	return cli.WithSettings(p, command, sections)
}

func (f *testFlags) run(ctx context.Context) error {
	compiler, err := kyverno.NewCompiler(kyverno.Config{ExceptionNamespaces: []string{policy.AllNamespaces}})
	if err != nil {
		return err
	}
	options := collection.Options{
		Dir: f.dir, Compiler: compiler, ThroughReports: f.throughReports, Workers: f.workers,
		Progress: func(total int64) *progress.Bar { return progress.New(f.process.ErrOut, total, "test") },
	}
	if f.allow != "" {
		if options.Allow, err = collection.ReadAllowList(f.allow); err != nil {
			return cli.Usage(fmt.Errorf("--allow: %w", err))
		}
	}
	outcome, err := collection.Run(ctx, options)
	if err != nil {
		return fmt.Errorf("--policies-dir: %w", err)
	}
	if err := outcome.Print(f.process.Out, f.details); err != nil {
		return err
	}
	if !outcome.Good() {
		return &cli.FindingError{Text: "the results are not all as the tests expect", Code: exitFindings}
	}
	return nil
}
