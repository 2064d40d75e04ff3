// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// First implements questions.Tables.
func (s *resultReader) First(_ context.Context, q *engine.OrderQuery, from questions.Selection) ([]questions.Row, error) {
	in, err := s.windowsOf(from)
	if err != nil {
		return nil, err
	}
	sql := newQuestion()
	sql.addFirst(s.cluster, in, q, from.Filter)
	return s.readRows(sql)
}
