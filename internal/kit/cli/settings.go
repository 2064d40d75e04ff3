// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/docket-project/docket/internal/kit/settings"
)

// WithSettings gives a command its flags in sections, each also as environment
// variable and key of the --config file, and a help text that shows them so.
func WithSettings(p Process, command *cobra.Command, sections cliflag.NamedFlagSets) *cobra.Command {
	return WithLibraryFlags(p, command, sections, cliflag.NamedFlagSets{})
}

// WithLibraryFlags is [WithSettings] for a command that also takes flags of a library. Its help says how many there
// are; `help --all` shows them, too.
func WithLibraryFlags(p Process, command *cobra.Command, sections, library cliflag.NamedFlagSets) *cobra.Command {
	settings.AddFlag(sections.FlagSet("settings"))
	for _, set := range []cliflag.NamedFlagSets{sections, library} {
		for _, name := range set.Order {
			command.Flags().AddFlagSet(set.FlagSets[name])
		}
	}
	inner := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		from, err := settings.Apply(command.Flags(), p.LookupEnv)
		if err != nil {
			return Usage(err)
		}
		return from.Explain(inner(command, args))
	}
	usual := command.HelpFunc()
	command.SetHelpFunc(func(asked *cobra.Command, args []string) {
		if asked != command { // The commands below it have flags of their own.
			usual(asked, args)
			return
		}
		printHelp(command, sections, library)
	})
	return command
}

func printHelp(command *cobra.Command, sections, library cliflag.NamedFlagSets) {
	out := command.OutOrStdout()
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n",
		strings.TrimSpace(command.Long), command.UseLine(), command.Example)
	if command.HasAvailableSubCommands() {
		fmt.Fprint(out, "\nCommands:\n")
		for _, sub := range command.Commands() {
			fmt.Fprintf(out, "  %s %-10s %s\n", command.CommandPath(), sub.Name(), sub.Short)
		}
	}
	printSections(out, sections)
	if more := count(library); more > 0 && showsAll(command) {
		fmt.Fprint(out, "\nThe following flags come from the Kubernetes library for API servers.\n")
		printSections(out, library)
	} else if more > 0 {
		fmt.Fprintf(out, "\n%d more flags, of the Kubernetes library for API servers: `%s help --all%s`.\n",
			more, command.Root().Name(), strings.TrimPrefix(command.CommandPath(), command.Root().Name()))
	}
	example := ""
	sections.FlagSet(sections.Order[0]).VisitAll(func(flag *pflag.Flag) { example = max(example, flag.Name) })
	fmt.Fprintf(out, "\nEvery flag can also be set by an environment variable (--%s by %s)\nor in the file of --%s. Flags win over the environment, the environment over the file.\n",
		example, settings.EnvName(example), settings.FileFlag)
}

// trailingSpace is what the library pads the names of flags with.
var trailingSpace = regexp.MustCompile(`(?m) +$`)

func printSections(out io.Writer, sections cliflag.NamedFlagSets) {
	var text bytes.Buffer
	cliflag.PrintSections(&text, sections, terminalWidth(out))
	fmt.Fprint(out, trailingSpace.ReplaceAllString(text.String(), ""))
}

func count(sections cliflag.NamedFlagSets) int {
	flags := 0
	for _, set := range sections.FlagSets {
		set.VisitAll(func(*pflag.Flag) { flags++ })
	}
	return flags
}

// allFlags is the key in the context of a command whose help is to show all flags.
type allFlags struct{}

func showsAll(command *cobra.Command) bool {
	return command.Context() != nil && command.Context().Value(allFlags{}) != nil
}
