// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"

	"github.com/docket-project/docket/internal/store/engine"
)

// Misstated implements engine.Questions.
func (m *Model) Misstated(ctx context.Context, q engine.MisstatedQuery) (engine.MisstatedPage, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.MisstatedPage{}, err
	}
	defer unlock()
	if err := q.Check(); err != nil {
		return engine.MisstatedPage{}, fmt.Errorf("compare summaries with results: %w", err)
	}
	page := engine.MisstatedPage{State: m.state}
	for _, p := range m.reports(q.Kinds, q.Namespace) {
		report := engine.Misstated{
			ReportRow: engine.ReportRow{ReportPlace: placeOf(p), UID: p.UID, CreatedAt: p.CreatedAt},
			Stated:    engine.Outcomes{Pass: p.Pass, Fail: p.Fail, Warn: p.Warn, Error: p.Error, Skip: p.Skip},
			Held:      held(p),
		}
		row := engine.ResultRow{Report: &report.ReportRow, Result: engine.Result{Verdict: &engine.Verdict{}}}
		selected := q.Filter.Match(func(f engine.Field) string { return textOf(row, f) }, 0)
		if !selected || report.Stated == report.Held || report.Compare(q.After) <= 0 {
			continue
		}
		if len(page.Reports) == q.Limit {
			page.More = true
			break
		}
		page.Reports = append(page.Reports, report)
	}
	return page, nil
}

// held counts the entries of a report, of which one about several subjects has several rows.
func held(p *engine.Projection) (sums engine.Outcomes) {
	entries := map[int32]string{}
	for _, result := range p.Results {
		entries[result.Index] = result.Verdict.Result
	}
	for _, said := range entries {
		for _, outcome := range sums.Counts() {
			if outcome.Outcome == said {
				*outcome.Count++
			}
		}
	}
	return sums
}
