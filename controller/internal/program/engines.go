// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/admissionpolicy"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// Expressions returns what evaluates expressions over cached data, with the functions that policies know.
func Expressions(options manager.CompilerOptions) *table.Engine {
	functions, impure := classic.Functions(!options.CompatibleOperands)
	return table.NewEngine(functions, impure...)
}

// clients are those for a cluster whose resources are evaluated.
type clients struct {
	dynamic    dynamic.Interface
	kubernetes kubernetes.Interface
	discovery  discovery.CachedDiscoveryInterface
}

// newClients returns clients that share connections, and refuse requests that policies may not make.
func newClients(config *rest.Config) (*clients, error) {
	config, err := reach.Guarded(config)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	out := &clients{}
	var errs [2]error
	out.dynamic, errs[0] = dynamic.NewForConfigAndClient(config, client)
	out.kubernetes, errs[1] = kubernetes.NewForConfigAndClient(config, client)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	out.discovery = memory.NewMemCacheClient(out.kubernetes.Discovery())
	return out, nil
}

// Compiler returns a compiler for policies that may look things up in a cluster and in cached data of it, with
// clients of its own that refuse requests that policies may not make.
func Compiler(config *rest.Config, cache *contextcache.Cache, options manager.CompilerOptions) (policy.Compiler, error) {
	access, err := newClients(config)
	if err != nil {
		return nil, err
	}
	return compilerOf(base.Config{
		Client: access.dynamic, Kubernetes: access.kubernetes, Entries: cache, Calls: cache.Calls(),
		Mapper:  restmapper.NewDeferredDiscoveryRESTMapper(access.discovery),
		Schemas: mutation.NewSchemas(access.kubernetes.Discovery().OpenAPIV3()),
	}, options)
}

// fileCompiler returns a compiler for policies that are evaluated for files.
func fileCompiler(api *objects.API, cached *contextcache.Static, options manager.CompilerOptions) (policy.Compiler, error) {
	access, err := newClients(api.Config())
	if err != nil {
		return nil, err
	}
	return compilerOf(base.Config{
		Client: api.Client(access.dynamic), Kubernetes: access.kubernetes, Entries: cached, Calls: cached.Calls(), Frozen: true,
		Mapper: restmapper.NewDeferredDiscoveryRESTMapper(access.discovery),
	}, options)
}

// compilerOf returns a compiler for Kyverno's policies and Kubernetes' own. What the options decide is added to config.
func compilerOf(config base.Config, options manager.CompilerOptions) (policy.Compiler, error) {
	var err error
	if config.Images, err = imagesOf(&options.Registry, config.Calls); err != nil {
		return nil, err
	}
	config.ExceptionNamespaces, config.CompatibleOperands = options.ExceptionNamespaces, options.CompatibleOperands
	compiler, err := kyverno.NewCompiler(config)
	if err != nil {
		return nil, err
	}
	own := admissionpolicy.Config{Mapper: config.Mapper, Schemas: config.Schemas, Entries: config.Entries}
	return policy.ByGroup{
		Groups:   map[string]policy.Compiler{policy.AdmissionGroup: admissionpolicy.NewCompiler(own)},
		Compiler: compiler,
	}, nil
}

// imagesOf returns how images are verified; nil if registries are not to be asked. Connections are made
// where calls of policies may go: anybody who may create a pod says which registry is asked.
func imagesOf(options *manager.RegistryOptions, calls call.Config) (*base.Images, error) {
	if !options.Registry {
		return nil, nil
	}
	allow, err := options.Ranges()
	if err != nil {
		return nil, err
	}
	return &base.Images{
		Registries:    registry.NewClient(registry.Config{Control: calls.Control(), Public: calls.Public(allow), Age: options.CacheAge}),
		AllowInsecure: options.AllowInsecure, PullSecrets: options.PullSecrets, CredentialHelpers: options.CredentialHelpers,
		NamespacedProviders: options.NamespacedProviders,
	}, nil
}
