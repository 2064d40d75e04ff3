// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// TestTexts: each number is wanted once, rows share what they refer to, and what must be there and is not is an error.
func TestTexts(t *testing.T) {
	t.Parallel()
	page := []questions.Numbers{{Object: 1, Index: 0, Verdict: 7, Subject: 5}, {Object: 1, Index: 1, Seconds: 3, Verdict: 7}, {Object: 1, Index: 2, Verdict: 7, Subject: 6}}
	texts := questions.NewTexts()
	for i, want := range [][3][]int64{{{1}, {7}, {5, 6}}, {}} {
		reports, verdicts, subjects := texts.Want(page)
		if got := [3][]int64{reports, verdicts, subjects}; !slices.EqualFunc(got[:], want[:], slices.Equal) {
			t.Errorf("time %d: wants %v, not %v", i, got, want)
		}
	}
	if _, err := texts.Rows(page); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("without the report: %v", err)
	}
	texts.Reports[1] = &engine.ReportRow{UID: "u"}
	if _, err := texts.Rows(page); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("without the verdict: %v", err)
	}
	texts.Verdicts[7], texts.Subjects[5] = &engine.Verdict{Policy: "p"}, &engine.Subject{Name: "s"}
	rows, err := texts.Rows(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if row.Report != texts.Reports[1] || row.Verdict != texts.Verdicts[7] || row.At != page[i] || row.Index != int32(i) || row.Seconds != page[i].Seconds {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	// The last one is about a subject that is gone.
	if rows[0].Subject != texts.Subjects[5] || rows[1].Subject != nil || rows[2].Subject != nil {
		t.Errorf("subjects: %+v", rows)
	}
}
