// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// troubles logs which housekeeping tasks fail, and when they recover: each once, and an unavailable database once for
// all of them. A metric counts every failure.
type troubles struct {
	mu sync.Mutex
	// failing has each work that failed the last time, and whether that was because the database is away.
	failing map[string]bool
}

// note takes the outcome of some work.
func (t *troubles) note(what string, err error) {
	if err != nil {
		housekeepingErrors.Inc()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was, failed := t.failing[what]
	is := errors.Is(err, engine.ErrUnavailable)
	delete(t.failing, what)
	switch {
	case err == nil && failed && (!was || !t.away()):
		klog.InfoS("Housekeeping works again", "work", what)
	case err != nil && (!failed || was != is) && (!is || !t.away()):
		klog.ErrorS(err, "Housekeeping fails; will keep retrying", "work", what)
	}
	if err != nil {
		if t.failing == nil {
			t.failing = map[string]bool{}
		}
		t.failing[what] = is
	}
}

// away reports whether some work fails because the database is away.
func (t *troubles) away() bool {
	for _, is := range t.failing {
		if is {
			return true
		}
	}
	return false
}
