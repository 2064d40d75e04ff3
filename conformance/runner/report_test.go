// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"testing"

	"github.com/docket-project/docket/conformance/runner"
)

// TestVerdict: failures come before everything else.
func TestVerdict(t *testing.T) {
	passed, failed := runner.Result{Outcome: runner.Passed}, runner.Result{Outcome: runner.Failed}
	undecided, skipped := runner.Result{Outcome: runner.Undecided}, runner.Result{Outcome: runner.Skipped}
	for name, test := range map[string]struct {
		report runner.Report
		want   runner.Outcome
	}{
		"all is well":    {runner.Report{Results: []runner.Result{passed, skipped}}, runner.Passed},
		"failed":         {runner.Report{Results: []runner.Result{failed, passed, failed}}, runner.Failed},
		"failed, and no": {runner.Report{Results: []runner.Result{failed, undecided}, Interrupted: true, Left: []string{"x"}}, runner.Failed},
		"undecided":      {runner.Report{Results: []runner.Result{passed, undecided}}, runner.Undecided},
		"trouble":        {runner.Report{Results: []runner.Result{passed}, Troubles: []runner.Trouble{{}}}, runner.Undecided},
		"interrupted":    {runner.Report{Results: []runner.Result{passed}, Interrupted: true}, runner.Undecided},
		"left behind":    {runner.Report{Results: []runner.Result{passed}, Left: []string{"x"}}, runner.Undecided},
		"only skipped":   {runner.Report{Results: []runner.Result{skipped}}, runner.Undecided},
	} {
		outcome, text := test.report.Verdict()
		if outcome != test.want || (text == "") != (outcome == runner.Passed) {
			t.Errorf("%s: %s, %q, want %s", name, outcome, text, test.want)
		}
	}
}
