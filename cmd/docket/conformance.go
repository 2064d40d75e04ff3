// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/conformance/checks"
	"github.com/docket-project/docket/conformance/object"
	"github.com/docket-project/docket/conformance/output"
	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/cli"
)

// The exit codes of `docket conformance`.
const (
	exitBroken    = 1
	exitUndecided = 2
)

const (
	groupVersionFlag = "group-version"
	outputFlag       = "output"
)

// conformanceFlags are those of `docket conformance`.
type conformanceFlags struct {
	process cli.Process

	kubeconfig, context, groupVersion, output string
	samples                                   []string
	options                                   runner.Options
}

func newConformance(p cli.Process) *cobra.Command {
	f := conformanceFlags{process: p, output: output.Formats()[0], options: runner.Options{
		Checks: checks.All(), UserAgent: "docket-conformance/" + buildinfo.Get().Version,
		Timeout: runner.DefaultTimeout, Parallel: runner.DefaultParallel,
	}}
	var sections cliflag.NamedFlagSets
	f.addServer(sections.FlagSet("server"))
	f.addChecks(sections.FlagSet("checks"))
	command := &cobra.Command{
		Use:   "conformance --group-version GROUP/VERSION [flags]",
		Short: "Check whether any API server follows the conventions of Kubernetes APIs",
		Long: `Check from outside whether the server of an API group version follows the conventions
of Kubernetes APIs: an extension API server in any language, custom resources, or
kube-apiserver itself. What fails is shown with the rule, its documentation, the
request, the answer, and the answer that was expected.

The checks create objects in namespaces of their own, and remove all of them at the end,
also after Ctrl-C. They change nothing else. Without the right to create namespaces, name
one with --namespace; checks that need more are then skipped. Cluster-scoped objects are
created only for resources named with --resource.

Exit codes: 0 all checks that apply passed; 1 the server breaks rules; 2 no check failed,
but some were inconclusive, or the command was used incorrectly.

` + "`docket conformance list`" + ` lists the checks; docs/apiserver/conformance.md describes the output.`,
		Example: `  # All resources of a group version, in the cluster of the current context
  docket conformance --group-version example.com/v1

  # One resource, with an object to use as a template
  docket conformance --group-version example.com/v1 --resource widgets --sample widget.yaml

  # With rights in one namespace only
  docket conformance --group-version example.com/v1 --namespace team-a

  # In CI: JUnit XML, without a rule that you have decided not to follow
  docket conformance --group-version example.com/v1 --output junit --skip table-list > conformance.xml

  # List the checks, and run a single one
  docket conformance list
  docket conformance --group-version example.com/v1 --only get-not-found`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command.Context()) },
	}
	command.AddCommand(newConformanceList(p))
	return completeContexts(cli.WithSettings(p, f.complete(command, sections), sections), &f.kubeconfig)
}

func newConformanceList(p cli.Process) *cobra.Command {
	format := output.ListFormats()[0]
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("list")
	flags.StringVarP(&format, outputFlag, "o", format, "Format: `text|json|markdown`.")
	command := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the checks",
		Long:  "List the checks with their identifiers and rules; JSON and Markdown also say how each rule is checked and where it is documented.",
		Example: `  docket conformance list

  # Identifiers only
  docket conformance list --output json | jq -r '.[].id'`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, output.ListFormats()); err != nil {
				return cli.Usage(err)
			}
			return output.List(p.Out, checks.All(), format)
		},
	}
	completeFlag(command, flags, outputFlag, output.ListFormats())
	return cli.WithSettings(p, command, sections)
}

func (f *conformanceFlags) addServer(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the server, or of a cluster in which it is registered. If empty, the one kubectl would use, or the service account of the pod.")
	fs.StringVar(&f.context, "context", "", "Context of the kubeconfig; the current one if empty.")
	fs.StringVar(&f.groupVersion, groupVersionFlag, "", "Group version to check, such as apps/v1, or v1 for the core group. Required.")
	fs.StringSliceVar(&f.options.Resources, "resource", nil, "Resource to check, such as deployments; all resources of the group version if empty. Can be repeated.")
	fs.StringSliceVar(&f.samples, "sample", nil, "YAML or JSON file with objects that the server accepts, at most one of each kind, used as templates. Can be repeated.")
	fs.StringVar(&f.options.Namespace, "namespace", "", "Existing namespace to use instead of new ones.")
}

func (f *conformanceFlags) addChecks(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.options.Skip, "skip", nil, "Identifier of a check to skip. Can be repeated.")
	fs.StringSliceVar(&f.options.Only, "only", nil, "Identifier of a check to run; all others are skipped. Can be repeated.")
	fs.DurationVar(&f.options.Timeout, "timeout", f.options.Timeout, "How long a check may take.")
	fs.IntVar(&f.options.Parallel, "parallel", f.options.Parallel, "How many checks run at the same time.")
	fs.StringVarP(&f.output, outputFlag, "o", f.output, "Format: `text|json|junit`.")
}

// complete adds what shells offer.
func (f *conformanceFlags) complete(command *cobra.Command, sections cliflag.NamedFlagSets) *cobra.Command {
	flags := sections.FlagSet("checks")
	var ids []string
	for i := range f.options.Checks {
		ids = append(ids, f.options.Checks[i].ID+"\t"+f.options.Checks[i].Rule)
	}
	completeFlag(command, flags, "skip", ids)
	completeFlag(command, flags, "only", ids)
	completeFlag(command, flags, outputFlag, output.Formats())
	return command
}

func completeFlag(command *cobra.Command, flags *pflag.FlagSet, name string, values []string) {
	command.Flags().AddFlag(flags.Lookup(name))
	// It fails only for flags that don't exist.
	_ = command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// run checks the server and prints the report. The error is the verdict.
func (f *conformanceFlags) run(ctx context.Context) error {
	if err := f.read(); err != nil {
		return cli.Usage(err)
	}
	shown := output.NewProgress(f.process.ErrOut)
	f.options.Planned, f.options.Finished = shown.Planned, func() { shown.Finished(ctx.Err() != nil) }
	report, err := runner.Run(ctx, f.options)
	shown.Done()
	if err != nil {
		return undecidedError{err}
	}
	if err := output.Write(f.process.Out, report, f.output, output.Colored(f.process.Out, f.process.LookupEnv)); err != nil {
		return undecidedError{fmt.Errorf("print the report: %w", err)}
	}
	switch outcome, text := report.Verdict(); outcome {
	case runner.Passed:
		return nil
	case runner.Failed:
		return &cli.FindingError{Text: text, Code: exitBroken}
	default:
		return &cli.FindingError{Text: text, Code: exitUndecided}
	}
}

// undecidedError is an error that says nothing about the server.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() error { return e.error }

// ExitCode is what the process ends with.
func (undecidedError) ExitCode() int { return exitUndecided }

// read completes the options. All that is wrong is said at once.
func (f *conformanceFlags) read() error {
	var err error
	errs := []error{
		checkFormat(f.output, output.Formats()), f.checkIDs("skip", f.options.Skip), f.checkIDs("only", f.options.Only),
	}
	if f.options.Timeout <= 0 {
		errs = append(errs, errors.New("--timeout: must be more than 0, such as 45s"))
	}
	if f.options.Parallel <= 0 {
		errs = append(errs, errors.New("--parallel: must be at least 1"))
	}
	if f.options.GroupVersion, err = runner.ParseGroupVersion(f.groupVersion); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", groupVersionFlag, err))
	}
	if f.options.Samples, err = object.ReadSampleFiles(f.samples); err != nil {
		errs = append(errs, fmt.Errorf("--sample: %w", err))
	}
	if f.options.Config, err = readConfig(f.kubeconfig, f.context); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkFormat(format string, formats []string) error {
	if !slices.Contains(formats, format) {
		return fmt.Errorf("--%s: %q is not one of %s", outputFlag, format, strings.Join(formats, ", "))
	}
	return nil
}

func (f *conformanceFlags) checkIDs(flag string, ids []string) error {
	var errs []error
	for _, id := range ids {
		if err := f.options.CheckID(id); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	return errors.Join(errs...)
}

// kubeconfigLoader reads what kubectl would read; both arguments may be empty.
func kubeconfigLoader(kubeconfig, contextName string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
}

// readConfig returns the way to the server, as kubectl would take it.
func readConfig(kubeconfig, contextName string) (*rest.Config, error) {
	loader := kubeconfigLoader(kubeconfig, contextName)
	config, err := loader.ClientConfig()
	switch raw, rawErr := loader.RawConfig(); {
	case err == nil:
		return config, nil
	case rawErr != nil: // The file can't be read.
		return nil, fmt.Errorf("--kubeconfig: %w", rawErr)
	case contextName != "" && raw.Contexts[contextName] == nil:
		names := slices.Sorted(maps.Keys(raw.Contexts))
		return nil, fmt.Errorf("--context: the kubeconfig has no context %q; it has %s", contextName, strings.Join(names, ", "))
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("--kubeconfig: there is none; name the kubeconfig of the server, or set KUBECONFIG")
	default:
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
}
