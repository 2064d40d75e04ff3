// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

const reports engine.Resource = "/g/reports/"

func entry(revision engine.Revision, key string) *hub.Entry {
	return hub.NewEntry(engine.Event{Revision: revision, Kind: engine.Create, Resource: reports, Key: key})
}

// entries makes events of consecutive revisions.
func entries(first engine.Revision, keys ...string) []*hub.Entry {
	var all []*hub.Entry
	for i, key := range keys {
		all = append(all, entry(first+engine.Revision(i), key))
	}
	return all
}

func revisions(entries []*hub.Entry) []engine.Revision {
	got := []engine.Revision{}
	for _, e := range entries {
		got = append(got, e.Revision)
	}
	return got
}

func state(revision engine.Revision) engine.State { return engine.State{Revision: revision} }

func appendTo(t *testing.T, h *hub.Hub, events []*hub.Entry) {
	t.Helper()
	last := events[len(events)-1].Revision
	if !h.Append(events, state(last)) {
		t.Fatalf("Append of events up to %d was refused", last)
	}
}

// Guarantee S3: in order, exactly once, and only what the watcher asked for.
func TestReadInOrder(t *testing.T) {
	t.Parallel()
	h := hub.New(1<<20, state(10))
	all, one := h.Subscribe(reports, ""), h.Subscribe(reports, "a/")
	other := h.Subscribe("/g/others/", "")
	appendTo(t, h, entries(11, "a/x", "b/x", "a-b/x", "a/y"))
	for _, c := range []struct {
		name string
		sub  *hub.Subscription
		want []engine.Revision
	}{
		{"everything", all, []engine.Revision{11, 12, 13, 14}},
		{"one namespace", one, []engine.Revision{11, 14}},
		{"another resource", other, []engine.Revision{}},
	} {
		got, next, status := c.sub.Read(10, nil, 100)
		if diff := cmp.Diff(c.want, revisions(got)); diff != "" || next != 14 || status != hub.Current {
			t.Errorf("%s: Read up to %d, status %d (-want +got):\n%s", c.name, next, status, diff)
		}
	}
}

func TestReadInParts(t *testing.T) {
	t.Parallel()
	h := hub.New(1<<20, state(0))
	s := h.Subscribe(reports, "")
	appendTo(t, h, entries(1, "a", "b", "c", "d", "e"))
	var got []engine.Revision
	after := engine.Revision(0)
	for range 3 {
		part, next, _ := s.Read(after, nil, 2)
		got, after = append(got, revisions(part)...), next
	}
	if diff := cmp.Diff([]engine.Revision{1, 2, 3, 4, 5}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestSignalOnlyWhatConcerns(t *testing.T) {
	t.Parallel()
	h := hub.New(1<<20, state(0))
	mine, theirs := h.Subscribe(reports, "a/"), h.Subscribe(reports, "b/")
	appendTo(t, h, entries(1, "a/x"))
	if len(mine.Signal()) != 1 || len(theirs.Signal()) != 0 {
		t.Errorf("signals: %d for the namespace of the event, %d for another; want 1 and 0", len(mine.Signal()), len(theirs.Signal()))
	}
	// The other one still moves on, for its bookmarks.
	if _, next, status := theirs.Read(0, nil, 10); next != 0 && next != 1 || status != hub.Current {
		t.Errorf("quiet watcher: up to %d, status %d", next, status)
	}
	appendTo(t, h, entries(2, "a/y"))
	theirs.Stop()
	theirs.Stop()
	if got := h.Stats().Watchers; got != 1 {
		t.Errorf("%d watchers after one of two stopped, want 1", got)
	}
}

func TestAppendRefusesGaps(t *testing.T) {
	t.Parallel()
	h := hub.New(1<<20, state(5))
	if h.Append(entries(7, "a"), state(7)) {
		t.Error("Append took revision 7 after 5")
	}
	if !h.Append(entries(4, "a", "b", "c"), state(6)) || h.State().Revision != 6 {
		t.Errorf("Append of 4 to 6 after 5: hub is at %d, want 6", h.State().Revision)
	}
	if h.Append(entries(7, "a"), engine.State{Revision: 7, Incarnation: 1}) {
		t.Error("Append took an event of another incarnation")
	}
}

func TestBehindTheRing(t *testing.T) {
	t.Parallel()
	h := hub.New(2000, state(0))
	s := h.Subscribe(reports, "")
	for i := range engine.Revision(100) {
		appendTo(t, h, entries(i+1, fmt.Sprint("key", i)))
	}
	if stats := h.Stats(); stats.Bytes > 2000 || stats.Events == 0 {
		t.Errorf("ring holds %d events of %d bytes, limit 2000", stats.Events, stats.Bytes)
	}
	if _, next, status := s.Read(1, nil, 10); status != hub.Behind || next != 1 {
		t.Errorf("Read after 1: status %d, next %d; want Behind and 1", status, next)
	}
	got, _, status := s.Read(99, nil, 10)
	if diff := cmp.Diff([]engine.Revision{100}, revisions(got)); diff != "" || status != hub.Current {
		t.Errorf("Read after 99: status %d (-want +got):\n%s", status, diff)
	}
}

func TestResetLosesWatchers(t *testing.T) {
	t.Parallel()
	h := hub.New(1<<20, state(5))
	before := h.Subscribe(reports, "")
	h.Reset(engine.State{Revision: 1000, Compacted: 1000, Incarnation: 1})
	if len(before.Signal()) != 1 {
		t.Error("Reset did not wake the watcher")
	}
	if _, _, status := before.Read(5, nil, 10); status != hub.Lost {
		t.Errorf("watcher from before the restore: status %d, want Lost", status)
	}
	after := h.Subscribe(reports, "")
	if _, _, status := after.Read(1000, nil, 10); status != hub.Current {
		t.Errorf("watcher from after the restore: status %d, want Current", status)
	}
}

func TestDecodedOnce(t *testing.T) {
	t.Parallel()
	e := entry(1, "a")
	calls := 0
	for range 3 {
		e.Decoded(func(*engine.Event) any { calls++; return calls })
	}
	if calls != 1 {
		t.Errorf("decoded %d times, want once", calls)
	}
}
