// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/contextcache"
	"github.com/docket-project/docket/controller/internal/manager"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/admissionpolicy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/cel"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginecmd"
	"github.com/docket-project/docket/controller/internal/policy/remote"
)

// engineShare is the part of the memory limit of this process that each engine gets that is a process of its own.
const engineShare = 4

// engines makes compilers.
type engines struct {
	entries  policy.Entries
	settings enginecmd.Settings
	// config is that of the cluster; nil if policies are evaluated from files.
	config *rest.Config
}

// newCompiler returns a compiler for policies that may look things up in a cluster and in cached data of it.
func newCompiler(config *rest.Config, cache *contextcache.Cache, options manager.CompilerOptions) (policy.Compiler, []*remote.Engine, error) {
	e := engines{entries: cache, config: config, settings: enginecmd.Settings{
		Cluster:             &enginecmd.Cluster{Kubeconfig: options.Kubeconfig, Context: options.Context, UserAgent: config.UserAgent, QPS: config.QPS, Burst: config.Burst},
		ExceptionNamespaces: options.ExceptionNamespaces, Calls: enginecmd.CallsOf(cache.Calls()), Registries: enginecmd.Registries(options.Registry),
	}}
	return e.compiler(options.Engines)
}

// compiler returns a compiler for Kyverno's policies and Kubernetes' own, and the engines that are processes of
// their own.
func (e *engines) compiler(apart []string) (policy.Compiler, []*remote.Engine, error) {
	config, err := e.settings.Config(e.config, e.entries)
	if err != nil {
		return nil, nil, err
	}
	here, err := kyverno.NewCompiler(config)
	if err != nil {
		return nil, nil, err
	}
	own := admissionpolicy.Config{Mapper: config.Mapper, Schemas: config.Schemas, Entries: e.entries}
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
	return remote.New(remote.Config{Name: name, Path: path, Args: []string{enginecmd.Name, name}, Settings: settings, Entries: e.entries, MemoryLimit: limit})
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

// newEngineCommand returns the subcommand with which this program is an engine of another docket-controller.
func newEngineCommand() *cobra.Command {
	return enginecmd.New(map[string]enginecmd.NewCompiler{
		policy.ClassicEngine: func(setup *base.Setup) (policy.Compiler, error) { return classic.NewCompiler(setup) },
		policy.CELEngine:     func(setup *base.Setup) (policy.Compiler, error) { return cel.NewCompiler(setup), nil },
	})
}
