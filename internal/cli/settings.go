// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/settings"
)

// WithSettings gives a command its flags in sections, each also as environment
// variable and key of the --config file, and a help text that shows them so.
func WithSettings(p Process, command *cobra.Command, sections cliflag.NamedFlagSets) *cobra.Command {
	settings.AddFlag(sections.FlagSet("settings"))
	for _, name := range sections.Order {
		command.Flags().AddFlagSet(sections.FlagSets[name])
	}
	inner := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		from, err := settings.Apply(command.Flags(), p.LookupEnv)
		if err != nil {
			return Usage(err)
		}
		return from.Explain(inner(command, args))
	}
	command.SetHelpFunc(func(command *cobra.Command, _ []string) { printHelp(command, sections) })
	return command
}

func printHelp(command *cobra.Command, sections cliflag.NamedFlagSets) {
	out := command.OutOrStdout()
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n",
		strings.TrimSpace(command.Long), command.UseLine(), command.Example)
	cliflag.PrintSections(out, sections, terminalWidth(out))
	example := ""
	sections.FlagSet(sections.Order[0]).VisitAll(func(flag *pflag.Flag) { example = max(example, flag.Name) })
	fmt.Fprintf(out, "\nEvery flag can also be set by an environment variable (--%s by %s)\nor in the file of --%s. Flags win over the environment, the environment over the file.\n",
		example, settings.EnvName(example), settings.FileFlag)
}
