// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/docket-project/docket/api/report"
)

// OutcomeNames returns the values of a list of allowed results, in the order in which Kyverno has
// them.
func OutcomeNames() []string {
	return []string{
		string(report.OutcomePass), string(report.OutcomeFail), string(report.OutcomeError),
		string(report.OutcomeWarn), string(report.OutcomeSkip),
	}
}

// ParseOutcomes returns what [Options.Allowed] takes: nil if all are named. The error says what is
// none of them, or that nothing is named.
func ParseOutcomes(names []string) ([]report.Outcome, error) {
	all := OutcomeNames()
	if len(names) == 0 {
		return nil, errors.New("is empty; name one of " + strings.Join(all, ", ") + " or more")
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(all, ", "))
		}
	}
	var allowed []report.Outcome
	for _, name := range all {
		if slices.Contains(names, name) {
			allowed = append(allowed, report.Outcome(name))
		}
	}
	if len(allowed) == len(all) {
		return nil, nil
	}
	return allowed, nil
}
