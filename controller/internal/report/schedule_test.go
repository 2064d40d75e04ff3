// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
)

// TestGathering: a report is written when it was quiet for a fifth of the time, or when the
// time has passed; what never is quiet is written ever less often.
func TestGathering(t *testing.T) {
	t.Parallel()
	const gather = 5 * time.Second
	var s schedule
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	change := func(seconds float64) { s.add(span{first: at(seconds), last: at(seconds)}) }
	expect := func(what string, seconds float64) {
		t.Helper()
		if got := s.due(gather).Sub(start).Seconds(); got != seconds {
			t.Errorf("%s: due after %v s, want %v", what, got, seconds)
		}
	}
	change(0)
	expect("one change", 1)
	change(0.5)
	expect("another one", 1.5)
	busy := func(from, to float64) {
		for now := from; now < to; now += 0.5 {
			change(now)
		}
	}
	now := 1.0
	for _, limit := range []float64{5, 10, 20, 30, 30} {
		begun := now
		if limit == 5 {
			begun = 0
		}
		busy(now, begun+limit)
		expect("continuing change", begun+limit)
		s.begin(at(begun+limit), gather)
		now = begun + limit
	}
	change(now + 1)
	expect("after that", now+2)
	s.begin(at(now+2), gather)
	busy(now+10, now+15)
	expect("once it was quiet", now+15)
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := backoff(failures, lastBackoff); got != want {
			t.Errorf("%d failures: %v, want %v", failures, got, want)
		}
	}
}

// TestAway tells trouble of the server from that with one report.
func TestAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{errors.New("connection refused"), true},
		{fmt.Errorf("create it: %w", apierrors.NewServiceUnavailable("later")), true},
		{apierrors.NewTooManyRequests("later", 1), true},
		{apierrors.NewInternalError(errors.New("webhook")), false},
		{fmt.Errorf("create it: %w", apierrors.NewForbidden(wgpolicy.Resource("policyreports"), "a", errors.New("quota"))), false},
		{errForeign, false},
	} {
		if got := unreachable(test.err); got != test.want {
			t.Errorf("%v: away %v", test.err, got)
		}
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{{"2", "1", true}, {"1", "2", false}, {"10", "9", true}, {"1", "1", false}, {"", "1", false}, {"1", "", true}, {"x", "1", true}} {
		if got := newer(test.a, test.b); got != test.want {
			t.Errorf("%q newer than %q: %v", test.a, test.b, got)
		}
	}
}

// TestWaits: what is to be deleted waits for what replaces it, and nothing waits in a circle.
func TestWaits(t *testing.T) {
	t.Parallel()
	layout, _ := newTestLayout(Options{Split: true})
	p := newTestPlan(layout)
	entryOf := func(name string) *reportState {
		rs := p.stateOf(reportID{api: WGPolicy, reportKey: reportKey{namespace: "default", name: name}})
		p.markDirty(rs, span{first: start, last: start})
		return rs
	}
	a, b, c := entryOf("a"), entryOf("b"), entryOf("c")
	a.waitFor(b)
	b.waitFor(c)
	if !waitsFor(a, c) || waitsFor(c, a) {
		t.Error("who waits for whom is not known")
	}
	if p.blockedBy(a) == nil || p.blockedBy(b) == nil || p.blockedBy(c) != nil {
		t.Error("a and b do not wait")
	}
	c.written = c.generation
	if p.blockedBy(b) != nil || p.blockedBy(a) == nil {
		t.Error("b does not go on when c is written")
	}
	b.failures = 3
	if p.blockedBy(a) == nil {
		t.Error("a is deleted although b can't be written")
	}
	layout.mu.Lock()
	layout.chunks[a.key.reportKey] = &chunk{}
	layout.mu.Unlock()
	if p.blockedBy(a) != nil {
		t.Error("a change of a waits for b, which can't be written")
	}
	b.failures = 0
	delete(p.reports, b.key)
	if p.blockedBy(a) != nil {
		t.Error("a waits for what is no more")
	}
}
