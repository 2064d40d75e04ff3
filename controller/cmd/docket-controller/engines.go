// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/controller/internal/contextcache"
	"github.com/docket-project/docket/controller/internal/contextcache/call"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/admissionpolicy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
	"github.com/docket-project/docket/controller/internal/policy/remote"
	"github.com/docket-project/docket/controller/internal/reach"
	"github.com/docket-project/docket/controller/internal/registry"
)

// engineShare is the part of the memory limit of this process that each engine gets that is a process of its own.
const engineShare = 4

// engineSettings are what an engine needs to know, whether it is in this process or another one. They have no
// secrets.
type engineSettings struct {
	// Cluster is nil if policies are evaluated from files.
	Cluster             *clusterSettings `json:"cluster,omitempty"`
	ExceptionNamespaces []string         `json:"exceptionNamespaces"`
	Calls               callSettings     `json:"calls"`
	// Registry says whether and how image registries are asked.
	Registry manager.RegistryOptions `json:"registry"`
}

// clusterSettings say how to reach a cluster: by a kubeconfig or, if that is empty, as the service account of the pod.
type clusterSettings struct {
	Kubeconfig string  `json:"kubeconfig"`
	Context    string  `json:"context"`
	UserAgent  string  `json:"userAgent"`
	QPS        float32 `json:"qps"`
	Burst      int     `json:"burst"`
}

// callSettings are a [call.Config].
type callSettings struct {
	Timeout     time.Duration  `json:"timeout"`
	MaxResponse int64          `json:"maxResponse"`
	Allow       []netip.Prefix `json:"allow"`
	Block       []netip.Prefix `json:"block"`
}

func settingsOf(c call.Config) callSettings {
	return callSettings{Timeout: c.Timeout, MaxResponse: c.MaxResponse, Allow: c.Allow, Block: c.Block}
}

func (c callSettings) config() call.Config {
	return call.Config{Timeout: c.Timeout, MaxResponse: c.MaxResponse, Allow: c.Allow, Block: c.Block}
}

// config returns the configuration of the cluster.
func (c *clusterSettings) config() (*rest.Config, error) {
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.Burst = c.UserAgent, c.QPS, c.Burst
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

func (c *clusterSettings) load() (*rest.Config, error) {
	if c.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
}

// engines makes compilers.
type engines struct {
	entries  policy.Entries
	settings engineSettings
	// config is that of the cluster; nil if policies are evaluated from files.
	config *rest.Config
}

// newCompiler returns a compiler for policies that may look things up in a cluster and in cached data of it.
func newCompiler(config *rest.Config, cache *contextcache.Cache, options manager.CompilerOptions) (policy.Compiler, []*remote.Engine, error) {
	e := engines{entries: cache, config: config, settings: engineSettings{
		Cluster:             &clusterSettings{Kubeconfig: options.Kubeconfig, Context: options.Context, UserAgent: config.UserAgent, QPS: config.QPS, Burst: config.Burst},
		ExceptionNamespaces: options.ExceptionNamespaces, Calls: settingsOf(cache.Calls()), Registry: options.Registry,
	}}
	return e.compiler(options.Engines)
}

// compiler returns a compiler for Kyverno's policies and Kubernetes' own, and the engines that are processes of
// their own.
func (e *engines) compiler(apart []string) (policy.Compiler, []*remote.Engine, error) {
	here, own, err := kyvernoCompiler(e.config, &e.settings, e.entries)
	if err != nil {
		return nil, nil, err
	}
	own.Entries = e.entries
	groups := map[string]policy.Compiler{policy.AdmissionGroup: admissionpolicy.NewCompiler(own)}
	limit := shareMemory(len(apart))
	var processes []*remote.Engine
	for _, text := range apart {
		name, path := manager.ParseEngine(text)
		engine, err := e.process(name, path, limit)
		if err != nil {
			return nil, nil, fmt.Errorf("--engine: %s: %w", name, err)
		}
		groups[policy.Engines()[name]] = engine
		processes = append(processes, engine)
	}
	return policy.ByGroup{Groups: groups, Compiler: here}, processes, nil
}

// process returns an engine that is a process of its own: of this program if path is empty.
func (e *engines) process(name, path string, limit int64) (*remote.Engine, error) {
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	settings, err := json.Marshal(e.settings)
	if err != nil {
		return nil, err
	}
	return remote.New(remote.Config{Name: name, Path: path, Args: []string{engineCommand, name}, Settings: settings, Entries: e.entries, MemoryLimit: limit})
}

// shareMemory takes the memory of a number of processes from the limit of this one, and returns the limit of each;
// 0 if there is none.
func shareMemory(processes int) int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 || processes == 0 {
		return 0
	}
	share := limit / engineShare
	debug.SetMemoryLimit(limit - int64(processes)*share)
	return share
}

// kyvernoCompiler returns a compiler for Kyverno's policies, and what one for Kubernetes' own needs of the cluster. Its
// clients are its own, and ask for nothing but what policies may ask for. config is nil if there is no cluster.
func kyvernoCompiler(config *rest.Config, settings *engineSettings, entries policy.Entries) (policy.Compiler, admissionpolicy.Config, error) {
	own := admissionpolicy.Config{}
	calls := settings.Calls.config()
	with := base.Config{Entries: entries, Calls: calls, ExceptionNamespaces: settings.ExceptionNamespaces, Images: images(settings.Registry, calls)}
	if config != nil {
		guarded, err := reach.Guarded(config)
		if err != nil {
			return nil, own, err
		}
		access, err := newClusterAccess(guarded)
		if err != nil {
			return nil, own, err
		}
		own.Mapper = restmapper.NewDeferredDiscoveryRESTMapper(access.discovery)
		own.Schemas = mutation.NewSchemas(access.kubernetes.Discovery().OpenAPIV3())
		with.Client, with.Kubernetes, with.Mapper, with.Schemas = access.dynamic, access.kubernetes, own.Mapper, own.Schemas
	}
	compiler, err := kyverno.NewCompiler(with)
	return compiler, own, err
}

// images returns how images are verified; nil if registries are not to be asked. Connections are made
// where calls of policies may go: anybody who may create a pod says which registry is asked.
func images(options manager.RegistryOptions, calls call.Config) *base.Images {
	if !options.Registry {
		return nil
	}
	return &base.Images{
		Registries:    registry.NewClient(registry.Config{Control: calls.Control(), Age: options.CacheAge}),
		AllowInsecure: options.AllowInsecure, PullSecrets: options.PullSecrets, CredentialHelpers: options.CredentialHelpers,
	}
}
