// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

func TestReadsEntry(t *testing.T) {
	t.Parallel()
	cached, global := policy.Entry{Kind: policy.CachedContextEntry, Name: "a"}, policy.Entry{Kind: policy.GlobalContextEntry, Name: "a"}
	anyName := policy.Entry{Kind: policy.CachedContextEntry, Name: policy.AnyName}
	declared := policy.Entry{Resource: policy.EntryResource{Kind: "Service"}}
	for name, test := range map[string]struct {
		read, changed policy.Entry
		want          bool
	}{
		"same":              {cached, cached, true},
		"other kind":        {cached, global, true},
		"other name":        {policy.Entry{Kind: policy.CachedContextEntry, Name: "b"}, cached, false},
		"any name":          {anyName, cached, true},
		"any of other kind": {anyName, global, true},
		"all changed":       {cached, anyName, true},
		"declared":          {declared, declared, true},
		"declared another":  {declared, policy.Entry{Path: "/api/v1/services"}, false},
		"object, declared":  {anyName, declared, false},
		"declared, object":  {declared, anyName, false},
	} {
		if got := readsEntry(test.read, test.changed); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestEntryRescansDoNotPileUp: a policy is evaluated again at most once in the interval, not before
// its previous evaluation ends, and once more if anything changed meanwhile.
func TestEntryRescansDoNotPileUp(t *testing.T) {
	t.Parallel()
	u := newUnit(t)
	entry := policy.Entry{Kind: policy.CachedContextEntry, Name: "a"}
	p, other, request := unitNamed("p", false), unitNamed("other", false), unitNamed("request", true)
	p.entries, request.entries = []policy.Entry{entry}, []policy.Entry{entry}
	u.are(p, other, request)
	u.list(t, unitPod("a", "1", "x"), unitPod("b", "2", "x"))
	u.drain(t)
	renews := func(what string, want bool) {
		t.Helper()
		if got := u.renew(); got != want {
			t.Errorf("%s: evaluated again: %v", what, got)
		}
		u.assignPods()
	}
	renews("at the start", false)
	u.first.done = false
	u.entriesChanged([]policy.Entry{entry}, true)
	renews("during the first scan", false)
	u.first.done = true
	renews("after it", true)
	u.drain(t)
	u.clock.Step(defaultEntryInterval)
	u.entriesChanged([]policy.Entry{{Kind: policy.CachedContextEntry, Name: "b"}}, true)
	renews("another entry", false)
	revision := u.policies[other.Identity()].current.revision
	u.entriesChanged([]policy.Entry{entry}, true)
	renews("a change", true)
	if u.policies[other.Identity()].current.revision != revision {
		t.Error("another policy is evaluated again")
	}
	u.entriesChanged([]policy.Entry{entry}, true)
	u.clock.Step(time.Hour)
	renews("in the queue", false)
	if n := u.drain(t); n != 2 {
		t.Errorf("%d resources were evaluated again", n)
	}
	renews("after its turn", true)
	u.drain(t)
	for range 100 {
		u.entriesChanged([]policy.Entry{entry}, true)
		renews("within the interval", false)
	}
	u.clock.Step(defaultEntryInterval)
	renews("after the interval", true)
	u.drain(t)
	renews("without a change", false)
	u.entriesChanged([]policy.Entry{entry}, false)
	u.clock.Step(defaultEntryInterval)
	renews("not urgent", false)
	if u.wantsRenewal() {
		t.Error("the planner has nothing to do yet")
	}
	u.entriesChanged([]policy.Entry{entry}, true)
	renews("now it is", true)
	u.drain(t)
	u.entriesChanged([]policy.Entry{entry}, false)
	u.clock.Step(lazyEntryInterval)
	renews("not urgent, after its time", true)
	u.want(t, "results", "other a pass", "other b pass", "p a pass", "p b pass")
}
