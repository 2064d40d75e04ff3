// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/report"
)

// newLayout returns a layout for the reports that the flags describe.
func (f *scanFlags) newLayout() *report.Layout {
	return report.NewLayout(report.Options{Split: f.split, API: report.API(f.api)})
}

// readBefore reads the results that the server of --diff has.
func (f *scanFlags) readBefore(ctx context.Context) ([]filescan.Finding, error) {
	layout := f.newLayout()
	if _, err := openReports(ctx, "diff", f.diff, layout); err != nil {
		return nil, err
	}
	var before []filescan.Finding
	for _, result := range layout.Results() {
		before = append(before, filescan.Finding{
			Policy: result.Policy, Subject: result.Subject, Rule: result.Rule, Outcome: result.Outcome, Severity: result.Severity, Message: result.Message,
		})
	}
	if len(before) == 0 {
		fmt.Fprintln(f.process.ErrOut, "The server of --diff has no results of docket-controller: all that is found is new")
	}
	return before, nil
}

func (s *scan) printDifference(w io.Writer) error {
	if s.flags.output == outputJSON {
		return s.difference.PrintJSON(w)
	}
	return s.difference.PrintTable(w, tableOptions(s.flags.process))
}
