// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cliflag "k8s.io/component-base/cli/flag"

	apireport "github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/progress"
)

// scanFlags are those of `docket-controller scan`.
type scanFlags struct {
	process cli.Process

	policies, exceptions, resources []string

	kubeconfig, context string
	namespaces          []string
	exceptionNamespaces []string

	output string
	all    bool
	// failOn is the lowest severity of failures that set the exit code.
	failOn string
	// requireMatch makes an error of a policy that applies to no resource.
	requireMatch bool
	// maxPerRule bounds the results of a rule in the table; 0 for all.
	maxPerRule int
	split      bool
	api        string

	to               string
	createNamespaces bool

	workers  int
	cache    manager.CacheOptions
	registry manager.RegistryOptions
}

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
  docket-controller scan --policy policies/ --kubeconfig ~/.kube/config`

const scanLong = `Evaluate policies once: for resources in files, or for those of a cluster.

It prints a table, the reports as YAML or JSON, or findings for pipelines: SARIF 2.1.0,
JUnit XML, and commands that GitHub shows beside the lines of a pull request. With --to it
also writes the reports into a server. All policies that --policy names are evaluated, also those for admission
only (background: false). Without --policy they are those of the cluster that are for
existing resources, with their exceptions.

Files hold YAML or JSON, with as many objects as they like; of a folder all files below it
that end in .yaml, .yml or .json are read, - is standard input. Namespaced resources without
a namespace are in that of --namespace, or in default. The labels of a namespace are those
of the Namespace among the resources. Scopes and plurals of custom resources are
those of the CustomResourceDefinition among the resources; without one they are guessed.
Images are verified with --registry only: without it, no registry is asked.
Entries of the context cache (CachedContextEntry, GlobalContextEntry) among the policies or
resources hold the resources of the files, and the answers of services; from a cluster they
are those of the cluster.

Reports in a server: the scan replaces what it is about, as a whole. From files, it is about
its policies in all namespaces that its resources are in, and outside of namespaces if it
has resources there. From a cluster, it is about its policies everywhere, or in the namespaces of
--namespace; without --policy and --namespace about all reports that docket-controller
wrote. What docket-controller wrote with other values of --split-policy-report or
--reports-api is moved. Reports of others are never touched. Don't use --to with a server
whose reports ` + "`docket-controller run`" + ` keeps.

What the scan does not evaluate it names on standard error: files that hold something else,
rules that validate nothing, policies that apply to none of the resources (an error with
--require-match). A policy in a file with a field that Kyverno doesn't have is an error.

Exit codes: 0 all results are pass, skip or warn, or fail below --fail-on; 1 something fails; 2 something could not
be evaluated, read or written (also if other things fail); 130 it was interrupted.`

func newScan(p cli.Process) *cobra.Command {
	f := scanFlags{process: p, output: outputTable, failOn: string(apireport.SeverityInfo), split: true, api: string(report.WGPolicy), cache: manager.NewCacheOptions(), registry: manager.NewRegistryOptions(false), exceptionNamespaces: []string{policy.AllNamespaces}}
	var sections cliflag.NamedFlagSets
	f.addInput(sections.FlagSet("input"))
	f.addOutput(sections.FlagSet("output"))
	f.cache.AddFlags(sections.FlagSet("context cache"))
	f.registry.AddFlags(sections.FlagSet("image registries"))
	command := &cobra.Command{
		Use:     "scan --policy FILE|DIR... (--resource FILE|DIR... | --kubeconfig FILE) [flags]",
		Short:   "Evaluate policies once, for files or for a cluster",
		Long:    scanLong,
		Example: scanExample,
		Args: func(command *cobra.Command, args []string) error {
			if err := cli.NoArguments(command, args); err != nil { // What a shell makes of policies/*.yaml.
				return cli.Usage(fmt.Errorf("%w; repeat the flag for each file, or name the folder", err))
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.validate(f.output); err != nil {
				return cli.Usage(err)
			}
			return f.run(command.Context())
		},
	}
	return cli.WithSettings(p, command, sections)
}

func (f *scanFlags) addInput(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.policies, "policy", nil, "Files and folders with policies; exceptions among them count as well. Repeat it or separate them by commas. Without it, the policies are those of the cluster.")
	fs.StringSliceVar(&f.exceptions, "exception", nil, "Files and folders with exceptions (PolicyException) for the policies of --policy.")
	fs.StringSliceVar(&f.resources, "resource", nil, "Files and folders with the resources to evaluate; - is standard input.")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster whose resources are evaluated, instead of --resource. Policies may then look things up in it.")
	fs.StringVar(&f.context, "context", "", "Context in --kubeconfig; empty for its current one.")
	fs.StringSliceVar(&f.namespaces, "namespace", nil, "With --kubeconfig, the namespaces to which the scan is limited. With --resource, the namespace of resources that name none.")
	manager.AddExceptionNamespaces(fs, &f.exceptionNamespaces)
	fs.IntVar(&f.workers, "workers", 0, "Resources that are evaluated at a time; 0 for one for each core.")
}

// validate checks the flags; output is what the flag of this name says for a scan.
func (f *scanFlags) validate(output string) error {
	var errs []error
	add := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	add(len(f.resources) == 0 && f.kubeconfig == "", "--resource: is required; give files with resources, or --kubeconfig for those of a cluster")
	add(len(f.resources) > 0 && f.kubeconfig != "", "--resource and --kubeconfig exclude each other: give one")
	add(len(f.policies) == 0 && f.kubeconfig == "", "--policy: is required; give files with policies")
	add(len(f.exceptions) > 0 && len(f.policies) == 0, "--exception needs --policy: exceptions of a cluster's policies are those of the cluster")
	add(f.createNamespaces && f.to == "", "--create-namespaces needs --to")
	add(f.context != "" && f.kubeconfig == "", "--context needs --kubeconfig")
	add(len(f.resources) > 0 && len(f.namespaces) > 1, "--namespace: with --resource give one, for the resources that name none")
	add(slices.Contains(f.namespaces, ""), "--namespace: must not be empty")
	add(!slices.Contains(outputs, output), fmt.Sprintf("--output: %q is none of %s", output, strings.Join(outputs, ", ")))
	add(!slices.Contains(apireport.Severities(), apireport.Severity(f.failOn)), fmt.Sprintf("--fail-on: %q is none of critical, high, medium, low and info", f.failOn))
	add(f.api != string(report.WGPolicy) && f.api != string(report.OpenReports), fmt.Sprintf("--reports-api: %q is neither %s nor %s", f.api, report.WGPolicy, report.OpenReports))
	add(f.workers < 0, "--workers: must not be negative")
	add(f.maxPerRule < 0, "--max-per-rule: must not be negative; 0 shows all")
	errs = append(errs, manager.ValidateExceptionNamespaces(f.exceptionNamespaces)...)
	errs = append(errs, f.cache.Validate()...)
	return errors.Join(append(errs, f.registry.Validate()...)...)
}

// scan is one run of the command.
type scan struct {
	flags    *scanFlags
	policies []policy.Policy
	// objects are those of the policies.
	objects map[policy.Identity]manifest.Object
	source  source
	// input is what the policies were compiled of, by compiler.
	input    filescan.Sorted
	compiler policy.Compiler
	// variants returns resources to evaluate beside those of files; nil for none.
	variants func([]manifest.Object) []manifest.Object
	// kinds knows the kinds of custom resources; its group may be "*".
	kinds    func(group, kind string) []schema.GroupResource
	findings *filescan.Findings
	// layout is nil if nobody wants reports.
	layout *report.Layout
	server *reportServer
	// ended waits for what runs beside the scan.
	ended sync.WaitGroup
}

// source has the resources, and knows what it has seen.
type source interface {
	filescan.Source
	filescan.Extent
}

func (f *scanFlags) run(ctx context.Context) error {
	s := scan{flags: f, findings: filescan.NewFindings(f.all || f.output == outputJUnit)}
	if f.output == outputYAML || f.output == outputJSON || f.to != "" {
		s.layout = report.NewLayout(report.Options{Split: f.split, API: report.API(f.api)})
	}
	// What supports the evaluation, such as watches, ends with it.
	ctx, cancel := context.WithCancel(ctx)
	defer s.ended.Wait()
	defer cancel()
	var total int64
	var err error
	if f.kubeconfig != "" {
		err = s.fromCluster(ctx)
	} else {
		total, err = s.fromFiles(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.examine(); err != nil {
		return err
	}
	// Before anything is evaluated: the layout keeps what has not changed.
	if f.to != "" {
		if s.server, err = openReports(ctx, f.to, s.layout); err != nil {
			return err
		}
	}
	options := filescan.Options{Workers: f.workers, Findings: s.findings}
	if s.layout != nil {
		options.Reports = s.layout
	}
	bar := progress.New(f.process.ErrOut, total, "scan")
	options.Progress = bar
	incomplete := filescan.Run(ctx, s.source, s.policies, options)
	bar.Done()
	var partial *filescan.IncompleteError
	if incomplete != nil && !errors.As(incomplete, &partial) {
		return incomplete
	}
	for _, id := range s.unmatched() {
		fmt.Fprintf(s.flags.process.ErrOut, "No results: %s applies to none of the resources\n", id)
	}
	if err := errors.Join(s.print(), s.write(ctx), incomplete); err != nil {
		// Not the verdict: half of the truth may look like all of it.
		return err
	}
	return s.verdict()
}

// fromFiles reads policies and resources, and returns the number of resources.
func (s *scan) fromFiles(ctx context.Context) (int64, error) {
	loader := &manifest.Loader{Stdin: s.flags.process.In}
	input, err := s.load(loader)
	set, broken := loader.Load(s.flags.resources...)
	if broken != nil {
		err = errors.Join(err, fmt.Errorf("--resource: %w", broken))
	}
	if err != nil {
		return 0, err
	}
	s.note(set.LeftOut)
	s.kinds = filescan.Defined(set.Objects)
	entries := append(input.Entries, filescan.Sort(set.Objects, s.flags.namespace()).Entries...)
	resources := set.Objects
	if s.variants != nil {
		resources = slices.Concat(resources, s.variants(resources))
	}
	files, wrong := filescan.NewFiles(resources, filescan.FilesOptions{Namespace: s.flags.namespace(), AllowDuplicates: s.variants != nil})
	if wrong != nil {
		wrong = fmt.Errorf("--resource: %w", wrong)
	}
	compiler, err := s.fileCompiler(entries, set.Objects)
	if err == nil {
		err = s.compile(compiler, input)
	}
	if err := errors.Join(wrong, err); err != nil {
		return 0, err
	}
	s.source = files
	return int64(files.Len()), nil
}

// compile sets the policies and their objects.
func (s *scan) compile(compiler policy.Compiler, input filescan.Sorted) error {
	var err error
	if s.policies, err = filescan.Compile(compiler, input.Policies, input.Exceptions); err != nil {
		return err
	}
	s.input, s.compiler = input, compiler
	s.objects = make(map[policy.Identity]manifest.Object, len(s.policies))
	for i, p := range s.policies {
		s.objects[p.Identity()] = input.Policies[i]
	}
	return nil
}

// fileCompiler returns a compiler for policies to which the resources are all there is.
func (s *scan) fileCompiler(entries, resources []manifest.Object) (policy.Compiler, error) {
	var config contextcache.Config
	if err := s.flags.cache.Apply(&config); err != nil {
		return nil, err
	}
	cached, err := contextcache.NewStatic(contextcache.StaticConfig{
		Engine: newEngine(), Entries: plain(entries), Resources: plain(resources),
		CallTimeout: config.CallTimeout, AllowRanges: config.AllowRanges, BlockRanges: config.BlockRanges,
	})
	if err != nil {
		return nil, err
	}
	return compilerOf(base.Config{Entries: cached, Calls: cached.Calls()}, s.flags.compilerOptions())
}

// compilerOptions are those of the compiler, whatever the policies are for.
func (f *scanFlags) compilerOptions() manager.CompilerOptions {
	return manager.CompilerOptions{ExceptionNamespaces: f.exceptionNamespaces, Registry: f.registry}
}

func plain(objects []manifest.Object) []*unstructured.Unstructured {
	list := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		list = append(list, object.Unstructured)
	}
	return list
}

// namespace of resources in files that name none.
func (f *scanFlags) namespace() string {
	if len(f.namespaces) == 0 {
		return ""
	}
	return f.namespaces[0]
}

// load reads the files of --policy and --exception.
func (s *scan) load(loader *manifest.Loader) (filescan.Sorted, error) {
	set, err := loader.Load(s.flags.policies...)
	if err != nil {
		err = fmt.Errorf("--policy: %w", err)
	}
	exceptions, broken := loader.Load(s.flags.exceptions...)
	if broken != nil {
		err = errors.Join(err, fmt.Errorf("--exception: %w", broken))
	}
	if err != nil {
		return filescan.Sorted{}, err
	}
	s.note(set.LeftOut)
	s.note(exceptions.LeftOut)
	found := filescan.Sort(set.Objects, s.flags.namespace())
	more := filescan.Sort(exceptions.Objects, s.flags.namespace())
	for _, other := range slices.Concat(found.Others, more.Others, more.Policies, more.Entries) {
		s.note([]string{fmt.Sprintf("%s: a %s of %s is not evaluated", other.Origin, other.GetKind(), other.GetAPIVersion())})
	}
	if len(found.Policies) == 0 {
		return filescan.Sorted{}, errors.New("--policy: there is no policy in it that can be evaluated, such as a ClusterPolicy or a ValidatingPolicy; give files with some")
	}
	found.Exceptions = append(found.Exceptions, more.Exceptions...)
	return found, nil
}

// unmatched returns the policies that apply to none of the resources. Those of which all is left out are
// none of them.
func (s *scan) unmatched() []policy.Identity {
	leftOut := map[policy.Identity]bool{}
	for _, p := range s.policies {
		leftOut[p.Identity()] = len(p.LeftOut()) > 0 && len(p.Targets()) == 0
	}
	return slices.DeleteFunc(s.findings.Unmatched(), func(id policy.Identity) bool { return leftOut[id] })
}

// note tells what was left out. It is no error, and must not be silent.
func (s *scan) note(leftOut []string) {
	for _, text := range leftOut {
		fmt.Fprintln(s.flags.process.ErrOut, "Left out:", text)
	}
}

// examine tells what is not as it looks in the policies. Fields that the engine does not know are
// an error in a file, where they may be misspelt; a cluster has them of a newer Kyverno.
func (s *scan) examine() error {
	var errs []error
	for _, p := range s.policies {
		for _, rule := range p.LeftOut() {
			s.note([]string{fmt.Sprintf("%s: %s", p.Identity(), rule)})
		}
		for _, ignored := range policy.IgnoredExceptions(p) {
			s.note([]string{fmt.Sprintf("%s: the PolicyException %s/%s does not count: %s", p.Identity(), ignored.Exception.Namespace, ignored.Exception.Name, ignored.Message)})
		}
		doubt := p.Doubt()
		var unknown *policy.UnknownFieldsError
		switch {
		case errors.As(doubt, &unknown) && len(s.flags.policies) > 0:
			errs = append(errs, fmt.Errorf("--policy: %s: %s does not know %s: correct or remove it", p.Identity(), unknown.Engine, strings.Join(unknown.Paths, ", ")))
		case doubt != nil:
			fmt.Fprintf(s.flags.process.ErrOut, "Partly unknown: %s: %v\n", p.Identity(), doubt)
		}
	}
	return errors.Join(errs...)
}
