// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// pending returns the number of reports that are to be written or checked.
func (p *plan) pending() int { return len(p.dirty) + p.busy }

// holdings returns the number of reports that the server has, and of results in the layout, for the log.
func (p *plan) holdings() []any {
	exist := 0
	for _, rs := range p.reports {
		if rs.exists {
			exist++
		}
	}
	return []any{"reports", exist, "results", p.layout.size()}
}

// isUnreachable reports whether the server has not answered any write of a batch. It takes the mutex, as failed.
func (p *plan) isUnreachable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outage.failures >= parallel
}

// failed returns the errors of the reports that were tried and could not be written.
func (p *plan) failed(tried map[*reportState]bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures(func(rs *reportState) bool { return tried[rs] })
}

// failures returns the errors of reports that could not be written. It is called with the mutex.
func (p *plan) failures(of func(*reportState) bool) error {
	var failures []*reportState
	for rs := range p.dirty {
		if rs.err != nil && of(rs) {
			failures = append(failures, rs)
		}
	}
	slices.SortFunc(failures, func(a, b *reportState) int { return cmp.Compare(a.key.String(), b.key.String()) })
	var errs []error
	for i, rs := range failures {
		if i == shownErrors {
			errs = append(errs, fmt.Errorf("and %d more reports", len(failures)-i))
			break
		}
		errs = append(errs, fmt.Errorf("report %s: %w", rs.key.reportKey, rs.err))
	}
	return errors.Join(errs...)
}

// unwritten returns the reports that are to be written, with their generations, and a channel that is closed
// when that may have changed.
func (p *plan) unwritten() (map[*reportState]uint64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take()
	open := map[*reportState]uint64{}
	for _, rs := range p.reports {
		if rs.generation > rs.written {
			open[rs] = rs.generation
		}
	}
	p.closeLocked(open)
	return open, p.changed
}

// stillOpen removes from open what has been written.
func (p *plan) stillOpen(open map[*reportState]uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeLocked(open)
	return p.changed
}

// closeLocked removes from open what has been written or is refused. It is called with the mutex.
func (p *plan) closeLocked(open map[*reportState]uint64) {
	for rs, generation := range open {
		refused := rs.failures > 0 && !rs.busy
		if rs.written >= generation || refused || p.reports[rs.key] != rs {
			delete(open, rs)
		}
	}
}
