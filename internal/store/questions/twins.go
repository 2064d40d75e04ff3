// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// Twins are what is known of the results of which twins are looked for: engine.Identity, with numbers of reports and subjects. Reports
// may have very many results, so that an engine keeps none of those that have no twin here.
type Twins struct {
	// Reports and Subjects are those of the results, each once and in order; 0 is none.
	Reports, Subjects []int64

	known map[twin]struct{}
}

type twin struct {
	object, subject      int64
	source, policy, rule string
}

func newTwins(rows []Row) *Twins {
	t := &Twins{known: make(map[twin]struct{}, len(rows))}
	for i := range rows {
		at, verdict := &rows[i].At, rows[i].Verdict
		t.known[twin{at.Object, at.Subject, verdict.Source, verdict.Policy, verdict.Rule}] = struct{}{}
		t.Reports, t.Subjects = append(t.Reports, at.Object), append(t.Subjects, at.Subject)
	}
	slices.Sort(t.Reports)
	slices.Sort(t.Subjects)
	t.Reports, t.Subjects = slices.Compact(t.Reports), slices.Compact(t.Subjects)
	return t
}

// Has reports whether a result is, or has a twin, among them: given its numbers, and three texts of its verdict.
func (t *Twins) Has(at *Numbers, source, policy, rule string) bool {
	_, has := t.known[twin{at.Object, at.Subject, source, policy, rule}]
	return has
}

// TwinsOf returns RowPage.Twins of some rows.
func TwinsOf(ctx context.Context, source Source, rows []Row) ([]engine.ResultRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	twins, err := source.ReadTwins(ctx, newTwins(rows))
	return inOrder(twins), err
}
