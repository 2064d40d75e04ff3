// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"strings"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/filescan"
)

// Verdict is one result of a rule for a resource, as conversions compare it.
type Verdict struct {
	Outcome report.Outcome `json:"outcome"`
	Message string         `json:"message,omitempty"`
}

// words are verdicts for people, on one line.
func words(verdicts []Verdict) string {
	if len(verdicts) == 0 {
		return "no result"
	}
	texts := make([]string, len(verdicts))
	for i, verdict := range verdicts {
		texts[i] = string(verdict.Outcome)
		if message := filescan.OneLine(verdict.Message); message != "" {
			texts[i] += " (" + message + ")"
		}
	}
	return strings.Join(texts, " and ")
}
