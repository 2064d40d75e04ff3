// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func newTestPlan(layout *Layout) *plan {
	return newPlan(layout, time.Second, clocktesting.NewFakeClock(start))
}

func (p *plan) changedAt(name string, at time.Time) *reportState {
	rs := p.stateOf(reportID{api: WGPolicy, reportKey: reportKey{namespace: "default", name: name}})
	p.markDirty(rs, span{first: at, last: at})
	return rs
}

// TestPickOrder: reports are picked when they are due, those that fail and those that change once more later.
func TestPickOrder(t *testing.T) {
	t.Parallel()
	layout, _ := newTestLayout(Options{Split: true})
	p := newTestPlan(layout)
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	p.changedAt("late", second(5))
	p.changedAt("early", second(1))
	again := p.changedAt("again", second(0))
	failed := p.changedAt("failed", second(0))
	again.limit = time.Hour
	p.changedAt("again", second(3))
	failed.retry = second(4)
	p.enqueue(failed)
	if rs, at := p.pick(second(1)); rs != nil || !at.Equal(second(1).Add(p.gather/5)) {
		t.Errorf("picked %v before it is due; the next one is due at %v", rs, at)
	}
	var order []string
	for range 4 {
		rs, _ := p.pick(second(10))
		p.start(rs)
		order = append(order, rs.key.name)
	}
	if want := []string{"early", "again", "failed", "late"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if rs, at := p.pick(second(10)); rs != nil || !at.IsZero() {
		t.Errorf("picked %v, next at %v", rs, at)
	}
}

// TestHeldReports: a report that waits for another one is not looked at until that is written or has failed.
func TestHeldReports(t *testing.T) {
	t.Parallel()
	layout, _ := newTestLayout(Options{Split: true})
	p := newTestPlan(layout)
	now := start.Add(30 * time.Second)
	a, b := p.changedAt("a", start), p.changedAt("b", start.Add(time.Second))
	a.exists = true // It has no results, and is to be deleted.
	a.waitFor(b)
	rs, _ := p.pick(now)
	if rs != b || a.place != 0 || a.lane() != laneHeld {
		t.Fatalf("picked %v; a is at %d in lane %s", rs, a.place, a.lane())
	}
	p.start(b)
	if rs, _ := p.pick(now); rs != nil {
		t.Fatalf("picked %v while b is written", rs)
	}
	p.finish(b, b.generation, fmt.Errorf("write: %w", errForeign))
	if rs, _ := p.pick(now); rs != nil {
		t.Fatalf("picked %v after b has failed", rs)
	}
	rs, _ = p.pick(now.Add(time.Hour))
	if rs != b || b.lane() != laneRetry {
		t.Fatalf("picked %v instead of b for another attempt", rs)
	}
	p.start(b)
	p.finish(b, b.generation, nil)
	if rs, _ := p.pick(now); rs != a {
		t.Fatalf("picked %v after b was written", rs)
	}
}

// TestGate: unwanted reports of a namespace wait for all unwritten reports in it, without an edge for each.
func TestGate(t *testing.T) {
	t.Parallel()
	layout, _ := newTestLayout(Options{Split: true})
	p := newTestPlan(layout)
	now := start.Add(time.Hour)
	fresh := []*reportState{p.changedAt("a", start), p.changedAt("b", start)}
	var unwanted []*reportState
	for i := range 50 {
		rs := p.stateOf(reportID{api: OpenReports, reportKey: reportKey{namespace: "default", name: fmt.Sprint(i)}})
		rs.unwanted, rs.exists = true, true
		unwanted = append(unwanted, rs)
	}
	elsewhere := p.stateOf(reportID{api: OpenReports, reportKey: reportKey{namespace: "other", name: "x"}})
	elsewhere.unwanted, elsewhere.exists = true, true
	p.pruned = true
	p.pruneUnwanted()
	picked := map[*reportState]bool{}
	for rs, _ := p.pick(now); rs != nil; rs, _ = p.pick(now) {
		p.start(rs)
		picked[rs] = true
	}
	if len(picked) != 3 || !picked[fresh[0]] || !picked[fresh[1]] || !picked[elsewhere] {
		t.Fatalf("%d reports are written at once", len(picked))
	}
	p.finish(fresh[0], fresh[0].generation, nil)
	if rs, _ := p.pick(now); rs != nil {
		t.Fatalf("%s is deleted before all are written", rs.key)
	}
	p.finish(fresh[1], fresh[1].generation, nil)
	for range unwanted {
		rs, _ := p.pick(now)
		if rs == nil || !rs.unwanted {
			t.Fatalf("picked %v", rs)
		}
		p.start(rs)
	}
	if len(p.gates) != 0 {
		t.Error("the gate stays")
	}
}

// BenchmarkPick: what one write costs beside the request, when many reports wait. It must not depend on how many.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{100, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			layout := NewLayout(Options{Split: true})
			p := newTestPlan(layout)
			for i := range n {
				p.changedAt(fmt.Sprint(i), start.Add(time.Duration(i)*time.Millisecond))
			}
			now := start.Add(24 * time.Hour)
			for b.Loop() {
				rs, _ := p.pick(now)
				p.start(rs)
				p.finish(rs, rs.generation, nil)
				p.changedAt(rs.key.name, now)
				now = now.Add(time.Second)
			}
		})
	}
}
