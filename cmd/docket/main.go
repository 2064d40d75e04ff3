// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docket keeps Kubernetes policy reports in a SQL database and serves them
// as ordinary Kubernetes objects. Run `docket --help` for its subcommands.
//
// It exits with 0 after success, 1 after a failure, and 2 when it was called in a
// wrong way.
package main

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
	"golang.org/x/term"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"

	"github.com/docket-project/docket/internal/apiserver/buildinfo"
	"github.com/docket-project/docket/internal/extension"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	os.Exit(run(time.Now()))
}

// run is main with deferred calls.
func run(started time.Time) int {
	defer logs.FlushLogs()
	ctx, stop := untilSignal()
	defer stop()
	return execute(ctx, newRoot(process{
		out: os.Stdout, errOut: os.Stderr, lookupEnv: os.LookupEnv, started: started,
	}), os.Args[1:])
}

// process is what commands see of the process that they run in.
type process struct {
	out, errOut io.Writer
	lookupEnv   func(string) (string, bool)
	started     time.Time
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailure)
	}()
	return ctx, cancel
}

// usageError is an error about how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// execute runs a command and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
	var exit *extension.ExitError
	if errors.As(err, &exit) {
		return exit.Code // The command that docket run started.
	}
	var usage usageError
	if !errors.As(err, &usage) {
		return exitFailure
	}
	fmt.Fprintf(root.ErrOrStderr(), "See `%s --help`.\n", command.CommandPath())
	return exitUsage
}

func newRoot(p process) *cobra.Command {
	root := &cobra.Command{
		Use:   "docket",
		Short: "Keep Kubernetes policy reports in SQL and serve them as Kubernetes objects",
		Long: `Docket keeps policy reports in a SQL database instead of etcd, and serves them as
ordinary Kubernetes objects: kubectl, Kyverno and other clients see no difference.`,
		Example: `  # Try it on this machine, with reports to look at, without a cluster
  docket up --demo

  # Serve the reports of a cluster from PostgreSQL
  docket serve --database postgres://docket@db:5432/docket`,
		Version:       buildinfo.Get().Version,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			return command.Help()
		},
	}
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	root.SetVersionTemplate(versionText() + "\n")
	// Without the library's -v, which means verbosity elsewhere.
	root.Flags().Bool("version", false, "Print what this binary was built from")
	root.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newUp(p), newServe(p), newRun(p), newGateway(p), newBootstrap(p), newMigrate(p), newVersion(p))
	return root
}

// noArguments refuses arguments, so that a forgotten dash is not ignored.
func noArguments(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("`%s` takes no argument %q", command.CommandPath(), args[0])}
	}
	return nil
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
