// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/results/resultview"
)

// everything as a value of --result chooses all results, also those that pass.
const everything = "all"

// Names of flags that errors and notes name.
const (
	sortFlag  = "sort"
	limitFlag = "limit"
)

// resultsFlags are those that commands about results have in common.
type resultsFlags struct {
	process cli.Process

	kubeconfig, context, namespace string
	allNamespaces                  bool
	by                             resultview.Selection
	// format of answers that are not lists.
	format resultview.Format
}

func newResults(p cli.Process) *cobra.Command {
	command := &cobra.Command{
		Use:   "results",
		Short: "Show what policies say about resources: list, why, top, diff",
		Long: `Show what policies say about resources, from all engines that write reports, as far as
you may read them: the rights are those of the cluster for policyresults in the group
results.docket.dev.

The same is reached by kubectl: kubectl get policyresults. Named kubectl-docket, this
program is a plugin: kubectl docket results.`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newResultsList(p), newResultsWhy(p), newResultsTop(p), newResultsDiff(p))
	return command
}

func newResultsList(p cli.Process) *cobra.Command {
	f := resultsFlags{process: p}
	format, limit, order := resultview.Formats()[0], 0, ""
	var sections cliflag.NamedFlagSets
	f.addServer(sections.FlagSet("server"))
	f.addSelection(sections.FlagSet("selection"), resultview.Problems())
	flags := sections.FlagSet("output")
	flags.StringVarP(&format, outputFlag, "o", format, "Format: `table|wide|json|yaml|csv|sarif`.")
	flags.IntVar(&limit, limitFlag, limit, fmt.Sprintf("Largest number of results; 0 for all, or for %d with --%s, which shows %d at most.",
		resultview.DefaultOrdered, sortFlag, resultview.MaxOrdered))
	flags.StringVar(&order, sortFlag, order, "Order of the results, as FIELD or FIELD,desc: "+strings.Join(resultview.Orders(), ", ")+
		". Critical comes first; ties are sorted by time, newest first. By default, the worst come first, and all are listed.")
	command := &cobra.Command{
		Use:   "list [flags]",
		Short: "List results",
		Long: `List results of policies: those that fail, warn or end with an error, unless --result says otherwise. With
--all-namespaces, those outside of namespaces are listed as well, if you may read them.

The worst come first: by result, then by severity. With --sort, the server sorts them and returns the first N.
Sources and policies are compared without case and by how they begin; kinds may be plural or short.`,
		Example: `  # What is wrong in my namespace
  docket results list

  # The worst of the whole cluster
  docket results list -A --severity critical,high

  # What failed most recently
  docket results list -A --result fail --sort timestamp,desc --limit 20

  # Everything that Trivy says about a Deployment
  docket results list --source trivy --subject Deployment/web --result all -o wide

  # For a spreadsheet
  docket results list -A -o csv > results.csv`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return f.list(command.Context(), resultview.Format(format), order, limit)
		},
	}
	f.complete(command, sections)
	completeFlag(command, flags, outputFlag, resultview.Formats())
	completeFlag(command, flags, sortFlag, resultview.Orders())
	return f.completeNames(cli.WithSettings(p, command, sections))
}

func newResultsWhy(p cli.Process) *cobra.Command {
	f := resultsFlags{process: p}
	all := false
	var sections cliflag.NamedFlagSets
	f.addCluster(sections.FlagSet("server"))
	f.addNamespace(sections.FlagSet("server"))
	flags := sections.FlagSet("output")
	flags.BoolVar(&all, "all", all, "Show what passes, too.")
	f.addOutput(flags)
	command := &cobra.Command{
		Use:   "why KIND/NAME [flags]",
		Short: "Show everything that is said about one resource",
		Long: `Show everything that policies of all engines say about one resource: what fails first, the worst at the
top, with messages and, where the engine says so, what to do.`,
		Example: `  docket results why Deployment/web
  docket results why deploy web -o yaml
  docket results why Pod/web-0 --namespace shop --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return cli.Usage(errors.New("name one resource as KIND/NAME, such as Deployment/web"))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			client, namespace, err := f.client()
			if err != nil {
				return err
			}
			return client.Why(command.Context(), p.Out, f.style(), f.format, namespace, strings.Join(args, "/"), all)
		},
	}
	completeFlag(command, flags, outputFlag, resultview.Documents())
	return f.completeNames(cli.WithSettings(p, command, sections))
}

func newResultsTop(p cli.Process) *cobra.Command {
	f := resultsFlags{process: p}
	limit := 20
	var sections cliflag.NamedFlagSets
	f.addServer(sections.FlagSet("server"))
	f.addSelection(sections.FlagSet("selection"), []string{"fail"})
	allClusters := false
	sections.FlagSet("server").BoolVar(&allClusters, "all-clusters", allClusters, "Look at all clusters whose reports are in the database. This needs the ClusterRole docket:fleet-view.")
	output := sections.FlagSet("output")
	output.IntVar(&limit, "limit", limit, "Largest number of rows.")
	f.addOutput(output)
	command := &cobra.Command{
		Use:   "top [" + strings.Join(resultview.Rankings(), "|") + "] [flags]",
		Short: "Rank policies, namespaces, resources, severities, sources, messages or clusters by failures",
		Long:  "Rank what has the most failures; with --result, by other results.",
		Example: "  docket results top -A\n  docket results top namespaces -A --severity critical,high\n  docket results top messages -A --result error\n" +
			"  docket results top clusters --all-clusters",
		ValidArgs: resultview.Rankings(),
		Args:      cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			ranking := resultview.Rankings()[0]
			if len(args) > 0 {
				ranking = args[0]
			}
			return f.top(command.Context(), resultview.Ranking(ranking), allClusters, limit)
		},
	}
	f.complete(command, sections)
	completeFlag(command, output, outputFlag, resultview.Documents())
	return f.completeNames(cli.WithSettings(p, command, sections))
}

func newResultsDiff(p cli.Process) *cobra.Command {
	f := resultsFlags{process: p}
	toContext := ""
	var sections cliflag.NamedFlagSets
	f.addCluster(sections.FlagSet("server"))
	f.addSelection(sections.FlagSet("selection"), nil)
	sections.FlagSet("server").StringVar(&toContext, "to-context", "", "Context of the second namespace, if that is in another cluster.")
	output := sections.FlagSet("output")
	f.addOutput(output)
	command := &cobra.Command{
		Use:   "diff NAMESPACE NAMESPACE [flags]",
		Short: "Compare the results of two namespaces, or of one in two clusters",
		Long: `Compare results by resource and rule. Names of namespaces are left out of the comparison, so that staging and
production can be compared. First come numbers by policy, then each difference.

Exit codes: 0 there is no difference; 1 there is, or something failed; 2 the command was used incorrectly.`,
		Example: `  docket results diff payments shop
  docket results diff shop shop --context staging --to-context production`,
		Args: named(2, "name two namespaces"),
		RunE: func(command *cobra.Command, args []string) error {
			return f.diff(command.Context(), args[0], args[1], toContext)
		},
	}
	f.complete(command, sections)
	completeFlag(command, output, outputFlag, resultview.Documents())
	return f.completeNames(cli.WithSettings(p, command, sections))
}

// top prints a ranking.
func (f *resultsFlags) top(ctx context.Context, ranking resultview.Ranking, allClusters bool, limit int) error {
	if err := f.check(); err != nil {
		return err
	}
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	in := resultview.Extent{Namespace: namespace, AllClusters: allClusters}
	if allClusters {
		if f.namespace != "" || f.allNamespaces {
			return cli.Usage(errors.New("--all-clusters looks at all namespaces: leave --namespace and --all-namespaces out"))
		}
		in.Namespace = ""
	}
	by, err := client.Resolve(ctx, in, f.by)
	if err != nil {
		return err
	}
	found, err := client.Top(ctx, f.process.Out, f.format, in, ranking, by, limit)
	if err != nil || found {
		return err
	}
	return f.nothing(ctx, client, in, by)
}

// nothing says where nothing was found.
func (f *resultsFlags) nothing(ctx context.Context, client *resultview.Client, in resultview.Extent, by resultview.Selection) error {
	note, err := client.Nothing(ctx, in, by)
	if err == nil {
		fmt.Fprint(f.process.ErrOut, note)
	}
	return err
}

// addOutput adds the format of answers that are not lists.
func (f *resultsFlags) addOutput(fs *pflag.FlagSet) {
	f.format = resultview.Table
	fs.StringVarP((*string)(&f.format), outputFlag, "o", string(f.format), "Format: `table|json|yaml`.")
}

// named demands a number of arguments, and says which.
func named(n int, which string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return cli.Usage(errors.New(which))
		}
		return nil
	}
}

func (f *resultsFlags) addCluster(fs *pflag.FlagSet) {
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. If empty, the one kubectl would use.")
	fs.StringVar(&f.context, "context", "", "Context of the kubeconfig; the current one if empty.")
}

func (f *resultsFlags) addNamespace(fs *pflag.FlagSet) {
	fs.StringVarP(&f.namespace, "namespace", "n", "", "Namespace of the reports; that of the context if empty.")
}

func (f *resultsFlags) addServer(fs *pflag.FlagSet) {
	f.addCluster(fs)
	f.addNamespace(fs)
	fs.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Look at all namespaces.")
}

func (f *resultsFlags) addSelection(fs *pflag.FlagSet, results []string) {
	about := "What results say: fail, error, warn, pass, skip, or all. Can be repeated."
	fs.StringSliceVar(&f.by.Results, "result", results, about)
	fs.StringSliceVar(&f.by.Severities, "severity", nil, "Severity: critical, high, medium, low, info. Can be repeated.")
	fs.StringSliceVar(&f.by.Sources, "source", nil, "Engine that found the result, or its beginning. Can be repeated.")
	fs.StringSliceVar(&f.by.Policies, "policy", nil, "Name of a policy, or its beginning. Can be repeated.")
	fs.StringSliceVar(&f.by.Categories, "category", nil, "Category of policies. Can be repeated.")
	fs.StringVar(&f.by.Rule, "rule", "", "Rule of a policy.")
	fs.StringVar(&f.by.Subject, "subject", "", "Resource, as KIND/NAME, KIND or NAME.")
}

// complete adds what shells offer.
func (f *resultsFlags) complete(command *cobra.Command, sections cliflag.NamedFlagSets) {
	flags := sections.FlagSet("selection")
	completeFlag(command, flags, "result", append(resultview.ResultNames(), everything))
	completeFlag(command, flags, "severity", resultview.SeverityNames())
}

// check finishes and checks the selection.
func (f *resultsFlags) check() error {
	if slices.Contains(f.by.Results, everything) {
		f.by.Results = nil
	}
	if err := f.by.Check(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// client returns what asks the cluster, and the namespace that is meant; "" for all.
func (f *resultsFlags) client() (*resultview.Client, string, error) {
	return f.clientOf(f.context)
}

func (f *resultsFlags) clientOf(name string) (*resultview.Client, string, error) {
	config, err := readConfig(f.kubeconfig, name)
	if err != nil {
		return nil, "", cli.Usage(err)
	}
	namespace := f.namespace
	switch {
	case f.allNamespaces && namespace != "":
		return nil, "", cli.Usage(errors.New("--namespace and --all-namespaces exclude each other"))
	case f.allNamespaces:
	case namespace == "":
		if namespace, _, err = kubeconfigLoader(f.kubeconfig, name).Namespace(); err != nil {
			return nil, "", fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	client, err := resultview.NewClient(config)
	return client, namespace, err
}

func (f *resultsFlags) diff(ctx context.Context, left, right, toContext string) error {
	if err := f.check(); err != nil {
		return err
	}
	if toContext == "" {
		toContext = f.context
	}
	var sides [2]resultview.Side
	for i, side := range []struct{ context, namespace string }{{f.context, left}, {toContext, right}} {
		client, _, err := f.clientOf(side.context)
		if err != nil {
			return err
		}
		name := side.namespace
		if side.context != "" {
			name = side.context + "/" + name
		}
		sides[i] = resultview.Side{Client: client, Place: resultview.Place{Namespace: side.namespace}, Name: name}
	}
	differ, err := resultview.Diff(ctx, f.process.Out, f.style(), f.format, sides[0], sides[1], f.by)
	if err == nil && differ > 0 {
		err = &cli.FindingError{Text: fmt.Sprintf("%d differences", differ), Code: 1}
	}
	return err
}

// defaultWidth is that of lines where there is no terminal.
const defaultWidth = 100

func (f *resultsFlags) style() resultview.Style {
	style := resultview.Style{Width: defaultWidth}
	file, ok := f.process.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return style
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		style.Width = width
	}
	_, plain := f.process.LookupEnv("NO_COLOR")
	style.Colour = !plain
	return style
}
