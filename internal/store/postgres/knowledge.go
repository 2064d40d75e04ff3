// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"sync/atomic"

	"github.com/docket-project/docket/internal/store/engine"
)

// knowledge is what this process knows of the history of its cluster. Safe for concurrent use.
type knowledge struct {
	// seen is the highest revision that this process knows to be committed. A
	// database that shows less was restored or failed over.
	seen atomic.Int64
	// incarnation is the one under which resources and facts were read.
	incarnation atomic.Int64
	resources   resourceCache
	facts       factCache
}

// sameIncarnation reports whether the caches were filled under an incarnation. When it is a newer one it empties them:
// what they hold may have been lost with the history.
func (k *knowledge) sameIncarnation(incarnation engine.Incarnation) bool {
	known := k.incarnation.Load()
	for int64(incarnation) > known {
		// Before as well: readers of the new number must not find old entries.
		k.resources.clear()
		k.facts.clear()
		if k.incarnation.CompareAndSwap(known, int64(incarnation)) {
			k.resources.clear()
			k.facts.clear()
			return false
		}
		known = k.incarnation.Load()
	}
	return int64(incarnation) == known
}

// wentBack reports whether a state lies before what this process knew already.
func (k *knowledge) wentBack(revision, seen int64, incarnation engine.Incarnation) bool {
	return revision < seen || int64(incarnation) < k.incarnation.Load()
}

// note records that a revision is known to be committed.
func (k *knowledge) note(revision engine.Revision) {
	for {
		seen := k.seen.Load()
		if int64(revision) <= seen || k.seen.CompareAndSwap(seen, int64(revision)) {
			return
		}
	}
}
