// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broadcast

import (
	"slices"
	"sync"
)

// Signal keeps the functions, of the type F, that are to be called when something has changed. The
// zero value has no subscribers. Its methods may be called by any goroutine, also from within a
// function that is being called.
type Signal[F any] struct {
	mu          sync.Mutex
	subscribers []*F
}

// Subscribe adds a function until unsubscribe is called. A call that began before may still be going
// on then. The function must return quickly.
func (s *Signal[F]) Subscribe(changed F) (unsubscribe func()) {
	subscriber := &changed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, subscriber)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribers = slices.DeleteFunc(s.subscribers, func(other *F) bool { return other == subscriber })
	}
}

// Subscribers returns the functions to call, in the order in which they were added. The caller holds
// no lock while it calls them.
func (s *Signal[F]) Subscribers() []F {
	s.mu.Lock()
	defer s.mu.Unlock()
	functions := make([]F, 0, len(s.subscribers))
	for _, subscriber := range s.subscribers {
		functions = append(functions, *subscriber)
	}
	return functions
}
