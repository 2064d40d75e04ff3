// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"io"
	"time"

	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/buildinfo"
)

// document is a report as JSON. Its fields are described in docs/apiserver/conformance.md: they stay as they
// are, and new ones may come.
type document struct {
	ToolVersion  string           `json:"toolVersion"`
	Server       string           `json:"server"`
	GroupVersion string           `json:"groupVersion"`
	Resources    []string         `json:"resources"`
	Started      time.Time        `json:"started"`
	Seconds      float64          `json:"seconds"`
	Interrupted  bool             `json:"interrupted"`
	Summary      summaryDocument  `json:"summary"`
	Results      []resultDocument `json:"results"`
	Troubles     []runner.Trouble `json:"troubles"`
	Left         []string         `json:"left"`
}

type summaryDocument struct {
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Undecided int `json:"undecided"`
}

type resultDocument struct {
	ID        string           `json:"id"`
	Area      string           `json:"area"`
	Rule      string           `json:"rule"`
	Reference string           `json:"reference"`
	Resource  string           `json:"resource,omitempty"`
	Outcome   runner.Outcome   `json:"outcome"`
	Reason    string           `json:"reason,omitempty"`
	Seconds   float64          `json:"seconds"`
	Failure   *runner.Failure  `json:"failure,omitempty"`
	Exchange  *runner.Exchange `json:"exchange,omitempty"`
}

// JSON writes a report for programs.
func JSON(w io.Writer, report *runner.Report) error {
	return writeJSON(w, documentOf(report, buildinfo.Get().Version))
}

func documentOf(report *runner.Report, version string) document {
	d := document{
		ToolVersion: version, Server: report.Server, GroupVersion: report.GroupVersion,
		Resources: append([]string{}, report.Resources...), Started: report.Started.UTC(), Seconds: seconds(report.Duration),
		Interrupted: report.Interrupted, Results: []resultDocument{},
		Summary: summaryDocument{
			report.Count(runner.Passed), report.Count(runner.Failed), report.Count(runner.Skipped), report.Count(runner.Undecided),
		},
		Troubles: append([]runner.Trouble{}, report.Troubles...), Left: append([]string{}, report.Left...),
	}
	for i := range report.Results {
		result := &report.Results[i]
		d.Results = append(d.Results, resultDocument{
			ID: result.Check.ID, Area: result.Check.Area, Rule: result.Check.Rule, Reference: result.Check.Reference,
			Resource: result.Resource, Outcome: result.Outcome, Reason: result.Reason, Seconds: seconds(result.Duration),
			Failure: result.Failure, Exchange: result.Exchange,
		})
	}
	return d
}

// seconds are rounded to what means something.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
