// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import "sync"

// signals say that there is something new: to this process, and to others.
type signals struct {
	wake chan struct{}
	// news says that there are commits of which other processes were not told.
	news chan struct{}
	// pids are the backends of the pool for writes, whose notifications are no news.
	pids sync.Map
}

// signal wakes the reader of Wake.
func (s *signals) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// announce has other processes told of a commit soon. One that is not told, since this process dies before, looks by
// itself.
func (s *signals) announce() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Wake implements engine.Engine.
func (s *signals) Wake() <-chan struct{} { return s.wake }
