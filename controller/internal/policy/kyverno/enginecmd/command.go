// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginecmd is the subcommand of programs that are an engine for docket-controller, and the settings that
// docket-controller gives them.
package enginecmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/remote"
	"github.com/docket-project/docket/internal/cli"
)

// Name is that of the subcommand that --engine starts.
const Name = "engine"

// module is what evaluates policies.
const module = "github.com/kyverno/kyverno"

// NewCompiler returns the compiler of an engine.
type NewCompiler func(setup *base.Setup) (policy.Compiler, error)

// New returns the subcommand. The engines of a program are those that are named.
func New(engines map[string]NewCompiler) *cobra.Command {
	return &cobra.Command{
		Use:   Name + " NAME",
		Short: "Evaluate policies for another docket-controller",
		Long: `Be the engine of the docket-controller that has started this process with --engine,
and end with it. The two talk over standard input and output.`,
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || engines[args[0]] == nil {
				names := slices.Sorted(maps.Keys(engines))
				return cli.Usage(fmt.Errorf("give one of %s; only docket-controller itself starts engines", strings.Join(names, ", ")))
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			out := os.Stdout
			os.Stdout = os.Stderr // Whatever a library prints is for the log.
			return remote.Serve(command.Context(), os.Stdin, out, remote.Host{NewCompiler: func(name string, settings []byte, entries policy.Entries) (policy.Compiler, string, error) {
				if name != args[0] {
					return nil, "", fmt.Errorf("this is the engine %s, not %s", args[0], name)
				}
				compiler, err := hosted(settings, entries, engines[name])
				return compiler, "Kyverno " + Version(), err
			}})
		},
	}
}

// hosted returns the compiler of an engine process.
func hosted(data []byte, entries policy.Entries, newCompiler NewCompiler) (policy.Compiler, error) {
	settings := &Settings{}
	if err := json.Unmarshal(data, settings); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	var cluster *rest.Config
	if settings.Cluster != nil {
		var err error
		if cluster, err = settings.Cluster.config(); err != nil {
			return nil, err
		}
	}
	config, err := settings.Config(cluster, entries)
	if err != nil {
		return nil, err
	}
	setup, err := base.NewSetup(config)
	if err != nil {
		return nil, err
	}
	return newCompiler(setup)
}

// Version is the version of Kyverno that the linker recorded; it records nothing in tests.
func Version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}
