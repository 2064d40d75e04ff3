// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

const reports engine.Resource = "/g/reports/"

// decoded is a decoded event.
type decoded struct{ number int }

func entry(revision engine.Revision, key string) *hub.Entry[decoded] {
	return hub.NewEntry[decoded](engine.Event{Revision: revision, Kind: engine.Create, Resource: reports, Key: key})
}

// entries makes events of consecutive revisions.
func entries(first engine.Revision, keys ...string) []*hub.Entry[decoded] {
	var all []*hub.Entry[decoded]
	for i, key := range keys {
		all = append(all, entry(first+engine.Revision(i), key))
	}
	return all
}

func revisions(entries []*hub.Entry[decoded]) []engine.Revision {
	got := []engine.Revision{}
	for _, e := range entries {
		got = append(got, e.Revision)
	}
	return got
}

func state(revision engine.Revision) engine.State { return engine.State{Revision: revision} }

func isClosed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

func appendTo(t *testing.T, h *hub.Hub[decoded], events []*hub.Entry[decoded]) {
	t.Helper()
	last := events[len(events)-1].Revision
	if !h.Append(events, state(last)) {
		t.Fatalf("Append of events up to %d was refused", last)
	}
}

// Guarantee S3: in order, exactly once, and only what the watcher asked for.
func TestReadInOrder(t *testing.T) {
	t.Parallel()
	h := hub.New[decoded](1<<20, state(10))
	all, one := h.Subscribe(reports, ""), h.Subscribe(reports, "a/")
	other := h.Subscribe("/g/others/", "")
	appendTo(t, h, entries(11, "a/x", "b/x", "a-b/x", "a/y"))
	for _, c := range []struct {
		name string
		sub  *hub.Subscription[decoded]
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
	h := hub.New[decoded](1<<20, state(0))
	s := h.Subscribe(reports, "")
	appendTo(t, h, entries(1, "a", "b", "c", "d", "e"))
	var got []engine.Revision
	after := engine.Revision(0)
	for range 3 {
		part, next, _ := s.Read(after, nil, 2)
		got, after = append(got, revisions(part)...), next
	}
	testkit.NoDiff(t, cmp.Diff([]engine.Revision{1, 2, 3, 4, 5}, got), "parts (-want +got)")
}

func TestSignalOnlyWhatConcerns(t *testing.T) {
	t.Parallel()
	h := hub.New[decoded](1<<20, state(0))
	mine, theirs := h.Subscribe(reports, "a/"), h.Subscribe(reports, "b/")
	mySignal, theirSignal := mine.Signal(), theirs.Signal()
	appendTo(t, h, entries(1, "a/x"))
	if !isClosed(mySignal) || isClosed(theirSignal) {
		t.Errorf("signals: %t for the namespace of the event, %t for another; want true and false", isClosed(mySignal), isClosed(theirSignal))
	}
	if isClosed(mine.Signal()) {
		t.Error("the next signal came before the next event")
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
	h := hub.New[decoded](1<<20, state(5))
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
	h := hub.New[decoded](2000, state(0))
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
	h := hub.New[decoded](1<<20, state(5))
	before := h.Subscribe(reports, "")
	signal := before.Signal()
	h.Reset(engine.State{Revision: 1000, Compacted: 1000, Incarnation: 1})
	if !isClosed(signal) {
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

// TestGapGoesOn: after a failover those go on who saw nothing newer than what the database still has.
func TestGapGoesOn(t *testing.T) {
	t.Parallel()
	gap := engine.Gap{After: 5, To: 1000, Before: 1}
	for cursor, want := range map[engine.Revision]struct {
		next   engine.Revision
		status hub.Status
	}{
		4: {4, hub.Behind}, 5: {1000, hub.Behind}, 6: {6, hub.Lost}, 7: {7, hub.Lost}, 999: {999, hub.Lost},
		1000: {1000, hub.Behind}, 1002: {1002, hub.Current},
	} {
		h := hub.New[decoded](1<<20, engine.State{Revision: 7, Incarnation: 1})
		s := h.Subscribe(reports, "")
		h.Reset(engine.State{Revision: 1002, Incarnation: 2, Gap: gap})
		if _, next, status := s.Read(cursor, nil, 10); next != want.next || status != want.status {
			t.Errorf("after %d: went on after %d with status %d, want %d, %d", cursor, next, status, want.next, want.status)
		}
		h.Reset(engine.State{Revision: 3000, Incarnation: 3, Gap: engine.Gap{After: 1002, To: 3000, Before: 2}})
		if _, next, status := s.Read(1002, nil, 10); want.status != hub.Lost && (next != 3000 || status != hub.Current) {
			t.Errorf("after %d, the second time: after %d with status %d", cursor, next, status)
		}
		h.Reset(engine.State{Revision: 5000, Incarnation: 5, Gap: engine.Gap{After: 4000, To: 5000, Before: 4}})
		if _, _, status := s.Read(3000, nil, 10); status != hub.Lost {
			t.Errorf("after %d, over an incarnation that was not seen: status %d, want Lost", cursor, status)
		}
	}
}

func TestDecodedOnce(t *testing.T) {
	t.Parallel()
	e := entry(1, "a")
	calls := 0
	for range 3 {
		e.Decoded(func(*hub.Entry[decoded]) *decoded { calls++; return &decoded{calls} })
	}
	if calls != 1 {
		t.Errorf("decoded %d times, want once", calls)
	}
}

// Commits of this process wait for those of others before them, which alone are read from the database.
func TestOffer(t *testing.T) {
	t.Parallel()
	h := hub.New[decoded](40_000, state(10))
	s := h.Subscribe(reports, "a/")
	defer s.Stop()
	for _, c := range []struct {
		first   engine.Revision
		keys    []string
		taken   bool
		missing int
	}{
		{11, []string{"a/1"}, true, 0},
		{14, []string{"a/2", "b/1"}, false, 2},
		{17, []string{"a/3"}, false, 2},
		{17, []string{"a/again"}, false, 2},
		{18, strings.Split("defghijklmnopqrstuvwxyzdefghijklmnopqrstuvwxyz", ""), false, 2}, // More than there is room for.
	} {
		events := entries(c.first, c.keys...)
		if got := h.Offer(events, state(events[len(events)-1].Revision)); got != c.taken || h.Missing() != c.missing {
			t.Errorf("offer of %d: %t, %d missing", c.first, got, h.Missing())
		}
	}
	signal := s.Signal()
	appendTo(t, h, entries(12, "x/1", "x/2"))
	if !isClosed(signal) || h.State().Revision != 15 || h.Missing() != 1 {
		t.Errorf("woken: %t, now at %d, %d missing", isClosed(signal), h.State().Revision, h.Missing())
	}
	appendTo(t, h, entries(16, "x/3", "a/3"))
	appendTo(t, h, entries(18, "a/4"))
	got, next, _ := s.Read(10, nil, 100)
	if diff := cmp.Diff([]engine.Revision{11, 14, 17, 18}, revisions(got)); diff != "" || next != 18 || h.Missing() != 0 {
		t.Errorf("read up to %d, %d missing (-want +got):\n%s", next, h.Missing(), diff)
	}
	if h.Offer(entries(20, "a/5"), engine.State{Revision: 20, Incarnation: 1}) || h.Missing() != 0 {
		t.Error("kept an event of another incarnation")
	}
	if h.Offer(entries(20, "a/5"), state(20)) || h.Missing() != 1 {
		t.Errorf("%d missing", h.Missing())
	}
	h.Reset(state(30))
	if h.Missing() != 0 {
		t.Error("a reset forgot nothing")
	}
}

// Watchers that read while events come and go see each of them once, whatever the timing.
func TestReadWhileAppending(t *testing.T) {
	t.Parallel()
	const last = 20000
	h := hub.New[decoded](entryCost*last, state(0))
	var watchers sync.WaitGroup
	for _, prefix := range []string{"", "a/", "a/", "b/"} {
		s := h.Subscribe(reports, prefix)
		watchers.Go(func() {
			defer s.Stop()
			expectAll(t, s, prefix, last)
		})
	}
	for first := engine.Revision(1); first <= last; first += 4 {
		appendTo(t, h, entries(first, "a/x", "b/x", "a/y", "c/x"))
	}
	watchers.Wait()
}

// entryCost is more than an event of these tests is charged for.
const entryCost = 1000

// expectAll reads up to the last event, and expects those of four that have the prefix.
func expectAll(t *testing.T, s *hub.Subscription[decoded], prefix string, last engine.Revision) {
	t.Helper()
	want := map[string][]engine.Revision{"": {1, 2, 3, 0}, "a/": {1, 3}, "b/": {2}}[prefix]
	seen := 0
	for after := engine.Revision(0); after < last; {
		signal := s.Signal()
		entries, next, status := s.Read(after, nil, 7)
		if status != hub.Current {
			t.Errorf("status %d after %d", status, after)
			return
		}
		for _, e := range entries {
			if e.Revision%4 != want[seen%len(want)] {
				t.Errorf("prefix %q: event %d is number %d", prefix, e.Revision, seen)
				return
			}
			seen++
		}
		if next == after {
			<-signal
		}
		after = next
	}
	if want := int(last) / 4 * len(want); seen != want {
		t.Errorf("prefix %q: saw %d events, want %d", prefix, seen, want)
	}
}

// Decoded events are charged when they are decoded, and the oldest are forgotten before the ring forgets an event.
func TestDecodedIsBounded(t *testing.T) {
	t.Parallel()
	const events = 10
	h := hub.New[decoded](10000, state(0))
	for i := range engine.Revision(events) {
		e := hub.NewEntry[decoded](engine.Event{Revision: i + 1, Kind: engine.Create, Resource: reports, Key: "a", Value: engine.Value{Size: 100_000}})
		appendTo(t, h, []*hub.Entry[decoded]{e})
	}
	s := h.Subscribe(reports, "")
	defer s.Stop()
	got, _, status := s.Read(0, nil, 100)
	if len(got) != events || status != hub.Current {
		t.Fatalf("read %d events, status %d", len(got), status)
	}
	times := 0
	for range 2 {
		for _, e := range got {
			form := e.Decoded(func(*hub.Entry[decoded]) *decoded { times++; return &decoded{times} })
			e.Charge(form, 1000)
			e.Charge(&decoded{}, 100_000) // Of a form that nobody keeps.
		}
	}
	// 5,000 bytes are for decoded events.
	if times != 2*events {
		t.Errorf("decoded %d times, want each event again after 5 others", times)
	}
	if got[events-1].Decoded(func(*hub.Entry[decoded]) *decoded { return nil }) == nil {
		t.Error("the newest was forgotten")
	}
	if stats := h.Stats(); stats.Events != events || stats.Bytes > 10000 || stats.Bytes < 8000 {
		t.Errorf("%d events of %d bytes", stats.Events, stats.Bytes)
	}
}

func TestPrepend(t *testing.T) {
	t.Parallel()
	h := hub.New[decoded](5000, state(20))
	s := h.Subscribe(reports, "")
	defer s.Stop()
	for _, c := range []struct {
		name        string
		events      []*hub.Entry[decoded]
		incarnation engine.Incarnation
		want        bool
	}{
		{"a gap", entries(18, "a", "b"), 0, false},
		{"another incarnation", entries(19, "a", "b"), 1, false},
		{"nothing", nil, 0, false},
		{"the newest", entries(19, "a", "b"), 0, true},
		{"the same again", entries(19, "a", "b"), 0, false},
		{"those before", entries(16, "a", "b", "c"), 0, true},
		{"more than there is room for", entries(5, strings.Split("abcdefghijk", "")...), 0, false},
	} {
		if got := h.Prepend(c.events, c.incarnation); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	appendTo(t, h, entries(21, "d"))
	if _, _, status := s.Read(14, nil, 100); status != hub.Behind {
		t.Errorf("status before the oldest: %d", status)
	}
	got, _, status := s.Read(15, nil, 100)
	if diff := cmp.Diff([]engine.Revision{16, 17, 18, 19, 20, 21}, revisions(got)); diff != "" || status != hub.Current || h.Oldest() != 16 {
		t.Errorf("status %d, oldest %d (-want +got):\n%s", status, h.Oldest(), diff)
	}
}
