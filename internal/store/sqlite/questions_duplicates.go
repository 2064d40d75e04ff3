// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

const (
	// heldResults are looked at together, so that verdicts are read by lists of their numbers.
	heldResults = 4096
	// maxIdentities bounds those that are kept.
	maxIdentities = 16 * heldResults
)

// duplicateScan keeps those of many results that have duplicates.
type duplicateScan struct {
	*resultReader

	of *questions.Duplicates
	// held are those that nobody has looked at yet.
	held []questions.Numbers
	page []questions.Numbers
	// identities are what verdicts have that tells duplicates, by their numbers.
	identities map[int64]*engine.Verdict
}

// ReadDuplicates implements questions.Source. The numbers of the reports are known, so that these are not looked up by
// their keys again.
func (s *resultReader) ReadDuplicates(_ context.Context, of *questions.Duplicates) ([]questions.Row, error) {
	reports, err := json.Marshal(of.Reports)
	if err != nil {
		return nil, err
	}
	subjects, err := json.Marshal(of.Subjects)
	if err != nil {
		return nil, err
	}
	scan := duplicateScan{resultReader: s, of: of, identities: map[int64]*engine.Verdict{}}
	err = s.scan(func(row []driver.Value) error {
		scan.held = append(scan.held, numbersOf(row))
		if len(scan.held) < heldResults {
			return nil
		}
		return scan.look()
	}, resultsOfDuplicates, string(reports), s.cluster, string(subjects))
	if err == nil {
		err = scan.look()
	}
	if err != nil {
		return nil, err
	}
	return s.rowsOf(scan.page)
}

// look keeps those of the held results that have duplicates.
func (t *duplicateScan) look() error {
	if len(t.identities) > maxIdentities {
		clear(t.identities)
	}
	var missing []int64
	for i := range t.held {
		missing = questions.Want(t.identities, t.held[i].Verdict, missing)
	}
	if err := readShared(t.resultReader, identitiesByNumber, missing, t.identities, func(v *engine.Verdict) []any {
		return []any{&v.Source, &v.Policy, &v.Rule}
	}); err != nil {
		return err
	}
	for i := range t.held {
		if v := t.identities[t.held[i].Verdict]; v != nil && t.of.Has(&t.held[i], v.Source, v.Policy, v.Rule) {
			t.page = append(t.page, t.held[i])
		}
	}
	t.held = t.held[:0]
	return nil
}
