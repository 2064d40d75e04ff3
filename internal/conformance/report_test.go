// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"testing"

	"github.com/docket-project/docket/internal/conformance"
)

// TestVerdict: failures come before everything else.
func TestVerdict(t *testing.T) {
	passed, failed := conformance.Result{Outcome: conformance.Passed}, conformance.Result{Outcome: conformance.Failed}
	undecided, skipped := conformance.Result{Outcome: conformance.Undecided}, conformance.Result{Outcome: conformance.Skipped}
	for name, test := range map[string]struct {
		report conformance.Report
		want   conformance.Outcome
	}{
		"all is well":    {conformance.Report{Results: []conformance.Result{passed, skipped}}, conformance.Passed},
		"failed":         {conformance.Report{Results: []conformance.Result{failed, passed, failed}}, conformance.Failed},
		"failed, and no": {conformance.Report{Results: []conformance.Result{failed, undecided}, Interrupted: true, Left: []string{"x"}}, conformance.Failed},
		"undecided":      {conformance.Report{Results: []conformance.Result{passed, undecided}}, conformance.Undecided},
		"trouble":        {conformance.Report{Results: []conformance.Result{passed}, Troubles: []conformance.Trouble{{}}}, conformance.Undecided},
		"interrupted":    {conformance.Report{Results: []conformance.Result{passed}, Interrupted: true}, conformance.Undecided},
		"left behind":    {conformance.Report{Results: []conformance.Result{passed}, Left: []string{"x"}}, conformance.Undecided},
		"only skipped":   {conformance.Report{Results: []conformance.Result{skipped}}, conformance.Undecided},
	} {
		outcome, text := test.report.Verdict()
		if outcome != test.want || (text == "") != (outcome == conformance.Passed) {
			t.Errorf("%s: %s, %q, want %s", name, outcome, text, test.want)
		}
	}
}
