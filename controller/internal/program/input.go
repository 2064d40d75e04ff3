// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/cli"
)

// Input has the flags of all commands that read policies and resources.
type Input struct {
	*filescan.Input

	CacheOptions    manager.CacheOptions
	RegistryOptions manager.RegistryOptions
	Evaluation      manager.EvaluationOptions
}

// NewInput returns the defaults, with which registries are not asked.
func NewInput(in *filescan.Input) *Input {
	return &Input{
		Input: in, CacheOptions: manager.NewCacheOptions(), RegistryOptions: manager.NewRegistryOptions(false),
		Evaluation: manager.EvaluationOptions{ExceptionNamespaces: []string{policy.AllNamespaces}},
	}
}

// AddFlags adds the flags that say what is read.
func (f *Input) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVarP(&f.Policies, "policy", "p", nil, "Files and folders with policies; exceptions among them count as well. Repeat it or separate them by commas. Without it, the policies are those of the cluster.")
	fs.StringSliceVar(&f.Exceptions, "exception", nil, "Files and folders with exceptions (PolicyException) for the policies of --policy.")
	fs.StringSliceVarP(&f.Resources, "resource", "r", nil, "Files and folders with the resources to evaluate; - is standard input.")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster whose resources are evaluated, or, with --resource, in which policies may look up what the files don't have.")
	fs.StringVar(&f.Context, "context", "", "Context in --kubeconfig; empty for its current one.")
	fs.StringVar(&f.Lookup, "lookup", filescan.LookupBoth, "What answers policies that look things up, with --resource and --kubeconfig: files, cluster, or both: the files, and for what they don't have the cluster, as if they had been applied to it.")
	fs.StringSliceVar(&f.Namespaces, "namespace", nil, "With --kubeconfig alone, the namespaces to which the scan is limited. With --resource, the namespace of resources that name none.")
	cli.SuggestFor(fs, "policy", "policies")
	cli.SuggestFor(fs, "kubeconfig", "cluster")
	f.Evaluation.AddFlags(fs)
	fs.IntVar(&f.Workers, "workers", 0, "Resources that are evaluated at a time; 0 for one for each core.")
}

// Complete completes the values of the flags of [Input.AddFlags].
func Complete(command *cobra.Command) {
	// It fails for an unknown flag.
	_ = command.RegisterFlagCompletionFunc("lookup", cobra.FixedCompletions([]string{filescan.LookupBoth, filescan.LookupFiles, filescan.LookupCluster}, cobra.ShellCompDirectiveNoFileComp))
}

// Apply checks the flags that other packages define, and adds what they say to the input.
func (f *Input) Apply() []error {
	errs := append(f.Evaluation.Validate(), f.CacheOptions.Validate()...)
	if errs = append(errs, f.RegistryOptions.Validate()...); len(errs) > 0 {
		return errs
	}
	options := manager.CompilerOptions{EvaluationOptions: f.Evaluation, Registry: f.RegistryOptions}
	f.Cache.Engine = Expressions(options)
	f.ForFiles = func(api *objects.API, cached *contextcache.Static) (policy.Compiler, error) {
		return fileCompiler(api, cached, options)
	}
	f.ForCluster = func(config *rest.Config, cache *contextcache.Cache) (policy.Compiler, error) {
		return Compiler(config, cache, options)
	}
	if err := f.CacheOptions.Apply(&f.Cache); err != nil {
		return []error{err}
	}
	return nil
}

// OnlyFlags refuses arguments, such as what a shell makes of --policy policies/*.yaml.
func OnlyFlags(command *cobra.Command, args []string) error {
	if err := cli.NoArguments(command, args); err != nil {
		return cli.Usage(fmt.Errorf("%w; repeat the flag for each file, or name the folder", err))
	}
	return nil
}
