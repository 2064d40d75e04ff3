// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// pollInterval lies between questions for commits of other processes where nobody tells of them.
const pollInterval = 100 * time.Millisecond

// poll asks for commits, until the engine is closed, and wakes the reader of Wake when there are any. It is the
// goroutine that Open starts behind a pooler that shares sessions: none can listen there.
func (e *Engine) poll() {
	defer close(e.listener)
	var known engine.State
	silent := false
	for {
		state, err := e.State(e.life)
		if e.life.Err() != nil {
			return
		}
		if (err != nil) != silent {
			silent = err != nil
			e.logPolling(err)
		}
		// Commits of this process are among them: reading nothing then costs little.
		if err == nil && state != known {
			known = state
			e.signal()
		}
		if pause(e.life, pollInterval) != nil {
			return
		}
	}
}

func (e *Engine) logPolling(err error) {
	if err != nil {
		e.log.Warn("can't ask for commits of other processes; trying again", "error", err)
		return
	}
	e.log.Info("asking for commits of other processes again")
}
