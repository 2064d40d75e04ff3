// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestCount(t *testing.T) {
	t.Parallel()
	var results []report.Result
	for i, outcome := range report.Outcomes() {
		for range i + 1 {
			results = append(results, report.Result{Result: outcome})
		}
	}
	results = append(results, report.Result{}, report.Result{Result: "unheard of"})
	want := report.Counts{Pass: 1, Fail: 2, Warn: 3, Error: 4, Skip: 5}
	testkit.NoDiff(t, cmp.Diff(want, report.Count(results)), "Count (-want +got)")
}

func TestSummaryCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		summary *report.Summary
		want    report.Counts
	}{
		"nil":     {nil, report.Counts{}},
		"empty":   {&report.Summary{}, report.Counts{}},
		"partial": {&report.Summary{Fail: new(int64(7))}, report.Counts{Fail: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.NoDiff(t, cmp.Diff(test.want, test.summary.Counts()), "Counts (-want +got)")
		})
	}
}

func TestCountsSummaryWritesZeros(t *testing.T) {
	t.Parallel()
	counts := report.Counts{Pass: 3, Skip: 1}
	encoded := testkit.Must(json.Marshal(counts.Summary()))(t)
	if want := `{"pass":3,"fail":0,"warn":0,"error":0,"skip":1}`; string(encoded) != want {
		t.Errorf("summary is %s, want %s", encoded, want)
	}
	testkit.NoDiff(t, cmp.Diff(counts, counts.Summary().Counts()), "round trip (-want +got)")
}
