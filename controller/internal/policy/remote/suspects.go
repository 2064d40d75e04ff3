// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/sha256"
	"errors"
	"sync"

	"k8s.io/utils/lru"
)

const (
	// maxDeaths is how often the process may end while something is evaluated with nothing beside it, before that
	// is singled out. Once may be a coincidence.
	maxDeaths = 2
	// maxSuspects bounds what is remembered.
	maxSuspects = 10_000
)

// errSingledOut is the error of what ends the process whenever it is evaluated.
var errSingledOut = errors.New("the engine has ended each time it was evaluated, also with nothing beside it; it is not evaluated any more until the policy or the resource changes")

// suspect is something that the process evaluated when it ended.
type suspect struct {
	// what is the method; policy is the fingerprint, or empty; subject is the hash of the rest.
	what, policy string
	subject      [sha256.Size]byte
}

// suspects remembers what the process evaluated when it ended.
type suspects struct {
	mu sync.Mutex
	// deaths has, by suspect, how often the process has ended while it was alone (int).
	deaths *lru.Cache
}

func newSuspects() *suspects { return &suspects{deaths: lru.New(maxSuspects)} }

// any reports whether there are any. Until then nobody has to compute hashes.
func (s *suspects) any() bool { return s.deaths.Len() > 0 }

// known reports whether something is suspected, and whether it is singled out.
func (s *suspects) known(one suspect) (suspected, out bool) {
	deaths, suspected := s.deaths.Get(one)
	if !suspected {
		return false, false
	}
	count, _ := deaths.(int)
	return true, count >= maxDeaths
}

// died records that the process has ended. It reports whether that singles the suspect out.
func (s *suspects) died(one suspect, alone bool) (out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	if before, ok := s.deaths.Get(one); ok {
		count, _ = before.(int)
	}
	if alone {
		count++
	}
	s.deaths.Add(one, count)
	return count == maxDeaths && alone
}

// survived clears a suspect.
func (s *suspects) survived(one suspect) { s.deaths.Remove(one) }
