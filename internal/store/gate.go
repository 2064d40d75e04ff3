// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
)

// gate lets a few through at a time: in turns the one who wants the oldest revision,
// and the one who has waited longest. The former makes those who are far behind catch up with the
// others, so that they share what is read from then on; the latter keeps them from stopping the others.
type gate struct {
	mu   sync.Mutex
	free int
	// waiting in the order in which they came.
	waiting []gateWaiter
	fair    bool
}

type gateWaiter struct {
	revision engine.Revision
	open     chan struct{}
}

// enter waits for a place. Leave must be called. There is no context: those who are
// through are quick, and several wait for what each of them brings.
func (g *gate) enter(revision engine.Revision) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return
	}
	open := make(chan struct{})
	g.waiting = append(g.waiting, gateWaiter{revision, open})
	g.mu.Unlock()
	<-open
}

// leave gives the place to the next one.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	next := 0
	if g.fair = !g.fair; !g.fair {
		for i, w := range g.waiting {
			if w.revision < g.waiting[next].revision {
				next = i
			}
		}
	}
	close(g.waiting[next].open)
	g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
}
