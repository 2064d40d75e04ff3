// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
)

// readers are the lists and watches of this process that read a snapshot page by page. The zero value has none. Safe
// for concurrent use.
type readers struct {
	mu  sync.Mutex
	all map[*reader]struct{}
}

// reader is one of them, for one goroutine.
type reader struct {
	readers *readers
	at      engine.Revision
}

// needs keeps history back from a revision until the reader ends.
func (r *reader) needs(at engine.Revision) {
	if r.at != 0 {
		return
	}
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	if r.readers.all == nil {
		r.readers.all = map[*reader]struct{}{}
	}
	r.at = at
	r.readers.all[r] = struct{}{}
}

func (r *reader) end() {
	if r.at == 0 {
		return
	}
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	delete(r.readers.all, r)
}

// lowest is the lowest revision that is needed, 0 for none.
func (r *readers) lowest() engine.Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lowest engine.Revision
	for reader := range r.all {
		if lowest == 0 || reader.at < lowest {
			lowest = reader.at
		}
	}
	return lowest
}
