// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// TestTexts: each number is wanted once, rows share what they refer to, and what must be there and is not is an error.
func TestTexts(t *testing.T) {
	t.Parallel()
	page := []questions.Numbers{{Object: 1, Index: 0, Verdict: 7, Subject: 5}, {Object: 1, Index: 1, Seconds: 3, Verdict: 7}, {Object: 1, Index: 2, Verdict: 7, Subject: 6, Ordinal: 2}}
	texts := questions.NewTexts()
	lookUps := texts.Missing(page)
	var wanted []string
	for _, missing := range lookUps {
		wanted = append(wanted, fmt.Sprint(missing.Table, missing.Numbers))
	}
	if want := []string{"report[1]", "verdict[7]", "subject[5 6]"}; !slices.Equal(wanted, want) {
		t.Fatalf("wants %v, not %v", wanted, want)
	}
	if again := texts.Missing(page); len(again) > 0 {
		t.Errorf("wants %v again", again)
	}
	// Each row of a table has its number, and its first text.
	take := func(table int, number int64) {
		t.Helper()
		err := lookUps[table].Take(func(fields ...any) error {
			*fields[0].(*int64), *fields[1].(*string) = number, "text"
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := texts.Rows(page); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("without the report: %v", err)
	}
	take(0, 1)
	if _, err := texts.Rows(page); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("without the verdict: %v", err)
	}
	take(1, 7)
	take(2, 5)
	rows, err := texts.Rows(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if row.Report != rows[0].Report || row.Report.Namespace != "text" || row.Verdict != rows[0].Verdict || row.Verdict.Source != "text" ||
			row.At != page[i] || row.Index != int32(i) || row.Seconds != page[i].Seconds || row.Ordinal != int32(page[i].Ordinal) {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	// The last one is about a subject that is gone.
	if rows[0].Subject == nil || rows[0].Subject.APIVersion != "text" || rows[1].Subject != nil || rows[2].Subject != nil {
		t.Errorf("subjects: %+v", rows)
	}
}
