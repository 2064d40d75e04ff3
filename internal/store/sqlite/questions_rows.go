// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/docket-project/docket/internal/store/questions"
)

// Read implements questions.Tables.
func (s *resultReader) Read(_ context.Context, windows []questions.Window, condition questions.Condition, limit int) ([]questions.Row, error) {
	places, err := s.windows(windows)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = noLimit
	}
	how := named
	if len(windows) > 0 && !windows[0].IsOne() && !condition.Confined {
		if how, err = s.reading(condition, limit); err != nil {
			return nil, err
		}
	}
	sql := newQuestion()
	sql.addRows(s.cluster, places, condition, limit, how)
	return s.readRows(sql)
}

// reading returns how many reports are read to find the first rows that meet a condition. An entry of the index of
// verdicts costs less than a row of a report, whose pages have to be found; so it pays to read all entries if they are
// fewer than the rows up to the limit, supposing that each report has its share.
func (s *resultReader) reading(condition questions.Condition, limit int) (reading, error) {
	if condition.Entries == 0 {
		return allOfThem, nil
	}
	results, err := s.number(s.ctx, sumResults, s.cluster)
	if err == nil && condition.Entries < int64(limit)*results/condition.Entries {
		return byEntries, nil
	}
	return allOfThem, err
}

// readRows returns the rows that a statement with the columns of pageColumns selects, in its order.
func (s *resultReader) readRows(sql *question) ([]questions.Row, error) {
	var page []questions.Numbers
	err := s.scan(func(row []driver.Value) error {
		page = append(page, numbersOf(row))
		return nil
	}, sql.String(), sql.Args...)
	if err != nil {
		return nil, err
	}
	return s.rowsOf(page)
}

// numbersOf takes pageColumns, the first of a row.
func numbersOf(row []driver.Value) (n questions.Numbers) {
	var subject any
	scan(row, &n.Object, &n.Index, &n.Seconds, &n.Verdict, &n.Ordinal, &subject)
	n.Subject, _ = subject.(int64)
	return n
}

// rowsOf adds what rows refer to.
func (s *resultReader) rowsOf(page []questions.Numbers) ([]questions.Row, error) {
	if len(page) == 0 {
		return nil, nil
	}
	if err := s.share(page); err != nil {
		return nil, err
	}
	return s.shared.Rows(page)
}

// share reads what some rows refer to, unless it was read in this snapshot already.
func (s *resultReader) share(page []questions.Numbers) error {
	for _, missing := range s.shared.Missing(page) {
		numbers, err := json.Marshal(missing.Numbers)
		if err != nil {
			return err
		}
		err = s.scan(func(row []driver.Value) error {
			return missing.Take(func(fields ...any) error {
				scan(row, fields...)
				return nil
			})
		}, byNumber[missing.Table], string(numbers), s.cluster)
		if err != nil {
			return err
		}
	}
	return nil
}
