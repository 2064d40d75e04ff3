// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run does everything; results go to out, progress to progressOut.
func run(ctx context.Context, arguments []string, out, progressOut io.Writer) error {
	if len(arguments) > 0 && arguments[0] == serveCommand {
		err := serve(ctx, arguments[1:], out)
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	o, err := parse(arguments, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	requests, watches, err := newClients(o)
	if err != nil {
		return err
	}
	load := &loader{options: o, client: requests, watchClient: watches, bodies: newBodies(o), progressOut: progressOut}
	results, err := load.runPhases(ctx)
	if printErr := printResults(out, o.output, results); err == nil {
		err = printErr
	}
	if err != nil {
		return err
	}
	if failed := countFailures(results); failed > 0 {
		return fmt.Errorf("%d failure(s)", failed)
	}
	return nil
}
