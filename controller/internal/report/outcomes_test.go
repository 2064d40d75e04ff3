// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
)

// TestParseOutcomes: all outcomes are no limit, in any order; an unknown one is named.
func TestParseOutcomes(t *testing.T) {
	t.Parallel()
	reversed := OutcomeNames()
	slices.Reverse(reversed)
	if got, err := ParseOutcomes(reversed); got != nil || err != nil {
		t.Errorf("all results: %v, %v", got, err)
	}
	got, err := ParseOutcomes([]string{"error", "fail", "error"})
	if want := []report.Outcome{report.OutcomeFail, report.OutcomeError}; !slices.Equal(got, want) || err != nil {
		t.Errorf("error and fail: %v, %v", got, err)
	}
	for name, names := range map[string][]string{`"failed"`: {"fail", "failed"}, "is empty": nil} {
		if _, err := ParseOutcomes(names); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "pass, fail") {
			t.Errorf("%q: %v", names, err)
		}
	}
}
