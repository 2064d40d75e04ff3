// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/internal/kit/cli"
)

// Input has the flags of all commands that read policies and resources.
type Input struct {
	*filescan.Input

	CacheOptions    manager.CacheOptions
	RegistryOptions manager.RegistryOptions

	exceptionNamespaces []string
}

// NewInput returns the defaults, with which registries are not asked.
func NewInput(in *filescan.Input) *Input {
	return &Input{
		Input: in, CacheOptions: manager.NewCacheOptions(), RegistryOptions: manager.NewRegistryOptions(false),
		exceptionNamespaces: []string{policy.AllNamespaces},
	}
}

// AddFlags adds the flags that say what is read.
func (f *Input) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVarP(&f.Policies, "policy", "p", nil, "Files and folders with policies; exceptions among them count as well. Repeat it or separate them by commas. Without it, the policies are those of the cluster.")
	fs.StringSliceVar(&f.Exceptions, "exception", nil, "Files and folders with exceptions (PolicyException) for the policies of --policy.")
	fs.StringSliceVarP(&f.Resources, "resource", "r", nil, "Files and folders with the resources to evaluate; - is standard input.")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster whose resources are evaluated, instead of --resource. Policies may then look things up in it.")
	fs.StringVar(&f.Context, "context", "", "Context in --kubeconfig; empty for its current one.")
	fs.StringSliceVar(&f.Namespaces, "namespace", nil, "With --kubeconfig, the namespaces to which the scan is limited. With --resource, the namespace of resources that name none.")
	cli.SuggestFor(fs, "policy", "policies")
	cli.SuggestFor(fs, "kubeconfig", "cluster")
	manager.AddExceptionNamespaces(fs, &f.exceptionNamespaces)
	fs.IntVar(&f.Workers, "workers", 0, "Resources that are evaluated at a time; 0 for one for each core.")
}

// Apply checks the flags that other packages define, and adds what they say to the input.
func (f *Input) Apply() []error {
	errs := append(manager.ValidateExceptionNamespaces(f.exceptionNamespaces), f.CacheOptions.Validate()...)
	if errs = append(errs, f.RegistryOptions.Validate()...); len(errs) > 0 {
		return errs
	}
	f.Cache.Engine = Expressions()
	options := manager.CompilerOptions{ExceptionNamespaces: f.exceptionNamespaces, Registry: f.RegistryOptions}
	f.ForFiles = func(cached *contextcache.Static) (policy.Compiler, error) {
		return compilerOf(base.Config{Entries: cached, Calls: cached.Calls()}, options)
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
