// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// pollInterval lies between questions for commits of other processes where nobody tells of them.
const pollInterval = 100 * time.Millisecond

// poller asks for commits behind a pooler that shares sessions: no session can listen there.
type poller struct {
	state func(context.Context) (engine.State, error)
	// found is called when there are commits.
	found func()
	log   *slog.Logger
}

func (e *Engine) newPoller() *poller {
	return &poller{state: e.State, found: e.signal, log: e.log}
}

// run asks until the engine is closed.
func (p *poller) run(ctx context.Context) {
	var known engine.State
	silent := false
	for {
		state, err := p.state(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != silent {
			silent = err != nil
			p.logPolling(err)
		}
		// Commits of this process are among them: reading nothing then costs little.
		if err == nil && state != known {
			known = state
			p.found()
		}
		if pause(ctx, pollInterval) != nil {
			return
		}
	}
}

func (p *poller) logPolling(err error) {
	if err != nil {
		p.log.Warn("can't ask for commits of other processes; trying again", "error", err)
		return
	}
	p.log.Info("asking for commits of other processes again")
}
