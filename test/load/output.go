// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

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
