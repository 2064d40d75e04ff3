// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"

	"github.com/docket-project/docket/internal/kit/settings"
)

// The exit codes of every command, unless an error has its own: see [Execute].
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
	// exitSignal is what shells add to the number of the signal that ended a command.
	exitSignal = 128
)

// Process is what commands see of the process that they run in.
type Process struct {
	In          io.Reader
	Out, ErrOut io.Writer
	LookupEnv   func(string) (string, bool)
	Started     time.Time
}

// Main runs the command that newRoot returns with the arguments of the process, until the first
// SIGINT or SIGTERM, and returns the exit code.
func Main(started time.Time, newRoot func(Process) *cobra.Command) int {
	defer logs.FlushLogs()
	ctx, stop := untilSignal()
	defer stop()
	return Execute(ctx, newRoot(Process{
		In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr, LookupEnv: os.LookupEnv, Started: started,
	}), os.Args[1:])
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		got := <-signals
		cancel(interruptedError{got})
		<-signals
		os.Exit(ExitFailure) //nolint:forbidigo // The person insists.
	}()
	return ctx, func() { cancel(nil) }
}

// interruptedError is the cause with which the context of a command ends by a signal.
type interruptedError struct{ signal os.Signal }

// Error implements error.
func (e interruptedError) Error() string { return "interrupted" }

// Is makes it the end of a context for those who ask.
func (interruptedError) Is(target error) bool { return target == context.Canceled }

// exitCode is the code that a shell reports for a command ended by the signal.
func (e interruptedError) exitCode() int {
	if number, ok := e.signal.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return ExitFailure
}

// usageError is an error about how the command was called.
type usageError struct{ error }

// Usage marks err as one about how the command was called.
func Usage(err error) error { return usageError{err} }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// IsUsage reports whether err is one of [Usage].
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// FindingError is the end of a command that did its work and found something: no error, but an exit
// code of its own.
type FindingError struct {
	Text string
	Code int
}

// Error returns the text.
func (f *FindingError) Error() string { return f.Text }

// ExitCode is what the process ends with.
func (f *FindingError) ExitCode() int { return f.Code }

// Execute runs a command and returns the exit code: 0 after success, what the method
// ExitCode() int of the error says if it has one, 2 for one of [Usage] and 1 for any other. A command
// that could not do its work because of a signal ends with 128 and the number of that.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var finding *FindingError
	if errors.As(err, &finding) {
		fmt.Fprintln(root.ErrOrStderr(), finding)
		return finding.Code
	}
	var interrupted interruptedError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &interrupted) {
		text := interrupted.Error()
		var left interface{ Interrupted() string }
		if errors.As(err, &left) {
			text += ": " + left.Interrupted()
		}
		fmt.Fprintln(root.ErrOrStderr(), "Error:", text)
		return interrupted.exitCode()
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if !IsUsage(err) {
		return ExitFailure
	}
	fmt.Fprintf(root.ErrOrStderr(), "See `%s --help`.\n", command.CommandPath())
	return ExitUsage
}

// PrepareRoot gives a root command what all have in common. versionText is the answer to
// --version, without the end of the line.
func PrepareRoot(p Process, root *cobra.Command, versionText string) {
	root.Args = NoArguments
	root.SilenceErrors, root.SilenceUsage = true, true
	root.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	root.SetVersionTemplate(versionText + "\n")
	// Without the library's -v, which means verbosity elsewhere.
	root.Flags().Bool("version", false, "Print what this binary was built from")
	root.SetHelpCommand(newHelp())
	root.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if similar := similarFlag(command, unknown.GetSpecifiedName()); similar != "" {
				err = fmt.Errorf("%w; did you mean --%s?", err, similar)
			}
		}
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, settings.Cause(err))
		}
		return Usage(err)
	})
}

// newHelp replaces the library's command, which shows the root's help for an unknown name. This one returns an error.
func newHelp() *cobra.Command {
	var all bool
	help := &cobra.Command{
		Use: "help [--all] [command]", Short: "Help about any command",
		RunE: func(command *cobra.Command, args []string) error {
			found, rest, err := command.Root().Find(args)
			if err != nil {
				return Usage(err)
			}
			if err := NoArguments(found, rest); err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			if all {
				found.SetContext(context.WithValue(command.Context(), allFlags{}, true))
			}
			return found.Help()
		},
		ValidArgsFunction: func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if found, _, err := command.Root().Find(args); err == nil {
				for _, sub := range found.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, sub.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	help.Flags().BoolVar(&all, "all", false, "Show all flags, those of the Kubernetes library for API servers too")
	return help
}

// NoArguments refuses arguments, so that a forgotten dash is not ignored. If they may be meant for the
// name of a subcommand, the error names it.
func NoArguments(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !command.HasAvailableSubCommands() {
		return Usage(fmt.Errorf("`%s` takes no argument %q", command.CommandPath(), args[0]))
	}
	if similar := similarCommand(command, args[0]); similar != "" {
		return Usage(fmt.Errorf("`%s` has no command %q; did you mean `%[1]s %[3]s`?", command.CommandPath(), args[0], similar))
	}
	return Usage(fmt.Errorf("`%s` has no command %q: `%[1]s --help` shows those that there are", command.CommandPath(), args[0]))
}

// maxEdits is how many characters a name may be wrong by.
const maxEdits = 2

// similarCommand returns the subcommand whose name is nearly the given one, "" for none.
func similarCommand(command *cobra.Command, name string) string {
	command.SuggestionsMinimumDistance = maxEdits
	if similar := command.SuggestionsFor(name); len(similar) > 0 {
		return similar[0]
	}
	return ""
}

// suggestFor annotates a flag with the names that others have for it.
const suggestFor = "docket.dev/suggest-for"

// SuggestFor lets the error about an unknown flag of these names suggest a flag.
func SuggestFor(flags *pflag.FlagSet, name string, others ...string) {
	flags.Lookup(name).Annotations = map[string][]string{suggestFor: others}
}

// similarFlag returns the flag of a command whose name is nearly the given one, "" for none.
func similarFlag(command *cobra.Command, name string) string {
	// Cobra knows how to find commands, and not flags.
	var flags cobra.Command
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		flags.AddCommand(&cobra.Command{
			Use: flag.Name, Hidden: flag.Hidden, SuggestFor: flag.Annotations[suggestFor], Run: func(*cobra.Command, []string) {},
		})
	})
	return similarCommand(&flags, name)
}

// terminalWidth for help texts; 80 where there is no terminal.
func terminalWidth(w io.Writer) int {
	const usual = 80
	file, ok := w.(*os.File)
	if !ok {
		return usual
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < usual {
		return usual
	}
	return width
}
