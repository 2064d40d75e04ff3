// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/remote"
	"github.com/docket-project/docket/internal/cli"
)

// engineCommand is the subcommand that --engine starts.
const engineCommand = "engine"

func newEngineProcess() *cobra.Command {
	return &cobra.Command{
		Use:   engineCommand + " NAME",
		Short: "Evaluate policies for another docket-controller",
		Long: `Be the engine of the docket-controller that has started this process with --engine,
and end with it. The two talk over standard input and output.`,
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			names := slices.Sorted(maps.Keys(policy.Engines()))
			if len(args) != 1 || !slices.Contains(names, args[0]) {
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
				compiler, err := hostedCompiler(settings, entries)
				return compiler, "Kyverno " + engineVersion(), err
			}})
		},
	}
}

// hostedCompiler returns the compiler of an engine process.
func hostedCompiler(data []byte, entries policy.Entries) (policy.Compiler, error) {
	settings := &engineSettings{}
	if err := json.Unmarshal(data, settings); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	var config *rest.Config
	if settings.Cluster != nil {
		var err error
		if config, err = settings.Cluster.config(); err != nil {
			return nil, err
		}
	}
	compiler, _, err := kyvernoCompiler(config, settings, entries)
	return compiler, err
}
