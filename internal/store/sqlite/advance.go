// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
)

var _ engine.Advancer = (*Engine)(nil)

// Advance implements engine.Advancer. Tidy drops the events that are below the mark
// then.
func (e *Engine) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	var state engine.State
	err := e.write(ctx, func(w *writer) error {
		err := w.transaction(func() error {
			c, err := readCounters(w.conn, e.cluster)
			if err != nil {
				return err
			}
			state.Revision = max(to, c.state.Revision+1)
			state.Compacted = state.Revision
			state.Incarnation = engine.Incarnation(max(int64(c.state.Incarnation)+1, e.now().UnixMilli()))
			if _, err := w.conn.exec(jumpRevision, e.cluster, int64(state.Revision), int64(state.Incarnation)); err != nil {
				return err
			}
			return w.ledger.reserve(int64(state.Revision))
		})
		if err != nil {
			return err
		}
		w.ledger.note(int64(state.Revision))
		e.wrote(w, 1, 0)
		return nil
	})
	return state, classify("advance the revision", err)
}
