// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/apiserver/buildinfo"
	"github.com/docket-project/docket/internal/cli"
	"github.com/docket-project/docket/internal/conformance"
	"github.com/docket-project/docket/internal/conformance/checks"
	"github.com/docket-project/docket/internal/conformance/object"
	"github.com/docket-project/docket/internal/conformance/output"
	"github.com/docket-project/docket/internal/progress"
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

// conformanceFormats are those of --output.
var conformanceFormats = []string{"text", "json", "junit"}

// conformanceFlags are those of `docket conformance`.
type conformanceFlags struct {
	process cli.Process

	kubeconfig, context, groupVersion, output string
	samples                                   []string
	options                                   conformance.Options
}

func newConformance(p cli.Process) *cobra.Command {
	f := conformanceFlags{process: p, output: conformanceFormats[0], options: conformance.Options{
		Checks: checks.All(), UserAgent: "docket-conformance/" + buildinfo.Get().Version,
		Timeout: conformance.DefaultTimeout, Parallel: conformance.DefaultParallel,
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
request, the answer, and what should have been answered.

The checks make objects in namespaces of their own, and remove all of it again, also
after Ctrl-C. Nothing else is changed. Without the right to create namespaces, name one
with --namespace; then checks that need more are skipped. Objects without a namespace
are made only of resources that --resource names.

Exit codes: 0 all checks that apply have passed; 1 the server breaks rules; 2 no check
failed, but not all could be found out, or the command was called in a wrong way.

` + "`docket conformance list`" + ` lists the checks; docs/apiserver/conformance.md describes the output.`,
		Example: `  # All resources of a group version, in the cluster of the current context
  docket conformance --group-version example.com/v1

  # One resource, with an object to make others like
  docket conformance --group-version example.com/v1 --resource widgets --sample widget.yaml

  # With rights in one namespace only
  docket conformance --group-version example.com/v1 --namespace team-a

  # In CI: JUnit XML, and a rule that you have decided not to follow
  docket conformance --group-version example.com/v1 --output junit --skip table-list > conformance.xml

  # What is checked, and one of the checks alone
  docket conformance list
  docket conformance --group-version example.com/v1 --only get-not-found`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command.Context()) },
	}
	command.AddCommand(newConformanceList(p))
	return cli.WithSettings(p, f.complete(command, sections), sections)
}

func newConformanceList(p cli.Process) *cobra.Command {
	format := output.ListFormats()[0]
	var sections cliflag.NamedFlagSets
	flags := sections.FlagSet("list")
	flags.StringVarP(&format, outputFlag, "o", format, "Format: `text|json|markdown`.")
	command := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the checks",
		Long:  "List the checks: identifiers, rules, and in JSON and Markdown how they are checked and where they are documented.",
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
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the server, or of a cluster that it is registered in. What kubectl would take when empty, or the service account of the pod.")
	fs.StringVar(&f.context, "context", "", "Context of the kubeconfig; its current one when empty.")
	fs.StringVar(&f.groupVersion, groupVersionFlag, "", "Group version to check, such as apps/v1, or v1 for the core group. Required.")
	fs.StringSliceVar(&f.options.Resources, "resource", nil, "Resource to check, such as deployments; all of the group version when empty. Can be given several times.")
	fs.StringSliceVar(&f.samples, "sample", nil, "File with objects that the server accepts, at most one for each kind, as YAML or JSON. Others are made like them. Can be given several times.")
	fs.StringVar(&f.options.Namespace, "namespace", "", "Namespace that exists, to be used instead of new ones.")
}

func (f *conformanceFlags) addChecks(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.options.Skip, "skip", nil, "Identifier of a check to leave out. Can be given several times.")
	fs.StringSliceVar(&f.options.Only, "only", nil, "Identifier of a check to run; all others are left out. Can be given several times.")
	fs.DurationVar(&f.options.Timeout, "timeout", f.options.Timeout, "How long a check may take.")
	fs.IntVar(&f.options.Parallel, "parallel", f.options.Parallel, "How many checks run at a time.")
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
	completeFlag(command, flags, outputFlag, conformanceFormats)
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
	shown := &conformanceProgress{out: f.process.ErrOut}
	f.options.Planned, f.options.Finished = shown.planned, func() { shown.finished(ctx.Err() != nil) }
	report, err := conformance.Run(ctx, f.options)
	shown.done()
	if report == nil {
		return undecidedError{err}
	}
	if err != nil {
		// What it began with may be left behind.
		for _, left := range report.Left {
			err = fmt.Errorf("%w; left behind: run `kubectl delete %s`", err, left)
		}
		return undecidedError{err}
	}
	if err := f.print(report); err != nil {
		return undecidedError{fmt.Errorf("print the report: %w", err)}
	}
	return verdict(report)
}

func (f *conformanceFlags) print(report *conformance.Report) error {
	switch f.output {
	case "json":
		return output.JSON(f.process.Out, report)
	case "junit":
		return output.JUnit(f.process.Out, report)
	default:
		return output.Text(f.process.Out, report, output.TextOptions{Color: f.color()})
	}
}

// color reports whether the output goes to somebody who sees colors and wants to (https://no-color.org).
func (f *conformanceFlags) color() bool {
	unwanted, _ := f.process.LookupEnv("NO_COLOR")
	file, ok := f.process.Out.(*os.File)
	return ok && unwanted == "" && term.IsTerminal(int(file.Fd()))
}

// verdict says by its error what the exit code is to be. Broken rules come first: they are what the
// command is there to find.
func verdict(report *conformance.Report) error {
	switch failed, passed := report.Count(conformance.Failed), report.Count(conformance.Passed); {
	case failed == 1:
		return &cli.FindingError{Text: "The server breaks a rule: 1 check failed.", Code: exitBroken}
	case failed > 1:
		return &cli.FindingError{Text: fmt.Sprintf("The server breaks rules: %d checks failed.", failed), Code: exitBroken}
	case report.Troubled():
		return &cli.FindingError{Text: "No check failed, but not all could be found out.", Code: exitUndecided}
	case passed == 0:
		return &cli.FindingError{Text: "Nothing was checked: all checks are skipped.", Code: exitUndecided}
	default:
		return nil
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
		checkFormat(f.output, conformanceFormats), f.checkIDs("skip", f.options.Skip), f.checkIDs("only", f.options.Only),
	}
	if f.options.Timeout <= 0 {
		errs = append(errs, errors.New("--timeout: must be more than nothing, such as 45s"))
	}
	if f.options.Parallel <= 0 {
		errs = append(errs, errors.New("--parallel: must be at least 1"))
	}
	if f.options.GroupVersion, err = readGroupVersion(f.groupVersion); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", groupVersionFlag, err))
	}
	if f.options.Samples, err = readSampleFiles(f.samples); err != nil {
		errs = append(errs, fmt.Errorf("--sample: %w", err))
	}
	if f.options.Config, err = readConfig(f.kubeconfig, f.context); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkFormat(format string, formats []string) error {
	if !slices.Contains(formats, format) {
		return fmt.Errorf("--%s: %q is none of %s", outputFlag, format, strings.Join(formats, ", "))
	}
	return nil
}

func (f *conformanceFlags) checkIDs(flag string, ids []string) error {
	var errs []error
	for _, id := range ids {
		if !slices.ContainsFunc(f.options.Checks, func(c conformance.Check) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("--%s: there is no check %q; `docket conformance list` shows them", flag, id))
		}
	}
	return errors.Join(errs...)
}

// versionPattern is what Kubernetes' own versions look like. Others are possible where there is a group.
var versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func readGroupVersion(text string) (schema.GroupVersion, error) {
	const remedy = "give GROUP/VERSION, such as apps/v1, or v1 for the core group"
	if text == "" {
		return schema.GroupVersion{}, errors.New("is required; " + remedy)
	}
	version, err := schema.ParseGroupVersion(text)
	switch {
	case err != nil || version.Version == "" || strings.HasPrefix(text, "/"):
		return schema.GroupVersion{}, fmt.Errorf("%q is not a group version; %s", text, remedy)
	case version.Group == "" && !versionPattern.MatchString(version.Version):
		return schema.GroupVersion{}, fmt.Errorf("%q has no version; %s", text, remedy)
	}
	return version, nil
}

func readSampleFiles(paths []string) ([]*unstructured.Unstructured, error) {
	var samples []*unstructured.Unstructured
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := object.ReadSamples(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		samples = append(samples, found...)
	}
	return samples, nil
}

// readConfig returns the way to the server, as kubectl would take it.
func readConfig(kubeconfig, contextName string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
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

// conformanceProgress shows how many checks are finished.
type conformanceProgress struct {
	out io.Writer

	mu   sync.Mutex // guards the fields below and writes to out
	bar  *progress.Bar
	told bool
}

func (s *conformanceProgress) planned(total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar = progress.New(s.out, int64(total), "checks")
}

func (s *conformanceProgress) finished(interrupted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.Add(1)
	if interrupted && !s.told {
		s.told = true
		s.bar.Done()
		fmt.Fprintln(s.out, "Interrupted: removing what the checks have made. Another Ctrl-C leaves it there.")
	}
}

func (s *conformanceProgress) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.Done()
}
