// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command load drives a server of the reports APIs and says how fast it answers:
// ours, CustomResourceDefinitions on a kube-apiserver, or any other that serves the
// same groups. See --help.
//
// Client and server usually share a machine, so that the client must cost little:
// bodies are put together from prepared pieces, answers are searched for the few bytes
// that matter and not decoded.
//
// It checks what it measures. A list that is too short, an event that comes twice or
// not at all, an object that is not as this run last wrote it, any status that is not the
// expected one is a failure, and a run with failures ends with exit code 1. At its end
// it reads all objects once more: what somebody else changed or deleted meanwhile
// was not measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"

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

const (
	outputText = "text"
	outputJSON = "json"
)

func printResults(out io.Writer, format string, results []result) error {
	if format == outputJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(results)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "phase\toperations\tseconds\tper second\tp50 ms\tp90 ms\tp99 ms\tmax ms\tMB\terrors\t")
	for _, r := range results {
		failed := countFailures([]result{r})
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%d\t\n",
			r.Phase, r.Operations, r.Seconds, r.PerSecond,
			r.P50Millis, r.P90Millis, r.P99Millis, r.MaxMillis, float64(r.Bytes)/1e6, failed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		for _, note := range r.Notes {
			fmt.Fprintf(out, "%s: %s\n", r.Phase, note)
		}
		for _, class := range slices.Sorted(maps.Keys(r.Errors)) {
			fmt.Fprintf(out, "%s: %d × %s, first: %s\n", r.Phase, r.Errors[class], class, r.FirstErrors[class])
		}
	}
	return nil
}
