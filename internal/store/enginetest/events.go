// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

var eventCases = []testCase{
	{"FieldsOfEachKind", testEventFields},
	{"FollowWithoutGaps", testEventPages},
	{"LargeEventsComeInSmallPages", testEventSize},
	{"TimesAreThoseOfTheBatch", testEventTimes},
	{"HorizonByBytes", testHorizonBytes},
	{"HorizonByTime", testHorizonTime},
}

func testEventFields(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "one"))
	s.apply(update("a", 2, "two"))
	s.apply(remove("a", 3))
	s.apply(create("a", "three"))
	s.commit(update("a", 5, "four"), create("b", "one"))
	event := func(revision engine.Revision, kind engine.OpKind, key string, created engine.Revision, data string,
		previousRevision engine.Revision, previous string,
	) engine.Event {
		e := engine.Event{
			Revision: revision, Kind: kind, Resource: reports, Key: key, Created: created, PreviousRevision: previousRevision,
		}
		if data != "" {
			e.Value = value(data)
		}
		if previous != "" {
			e.Previous = value(previous)
		}
		return e
	}
	want := []engine.Event{
		event(2, engine.Create, "a", 2, "one", 0, ""),
		event(3, engine.Update, "a", 2, "two", 2, "one"),
		event(4, engine.Delete, "a", 2, "", 3, "two"),
		event(5, engine.Create, "a", 5, "three", 0, ""),
		event(6, engine.Update, "a", 5, "four", 5, "three"),
		event(7, engine.Create, "b", 7, "one", 0, ""),
	}
	s.same("all events", s.events(1, 100), want)
	for i := range want {
		after := engine.Revision(i + 1)
		s.same("some events", s.events(after, 2), want[i:min(i+2, len(want))])
	}
}

func testEventPages(t *testing.T, target Target) {
	s := target.session(t)
	for i := range 250 {
		s.apply(create(fmt.Sprintf("%03d", i), "x"))
	}
	for _, limit := range []int{1, 100, 1000} {
		events := s.events(5, limit)
		if len(events) == 0 || len(events) > limit || events[0].Revision != 6 {
			t.Fatalf("%d events after 5 with limit %d", len(events), limit)
		}
	}
	s.same("events", len(s.eventsAfter(1)), 250)
	events, state, err := s.engine.Events(t.Context(), 251, 10)
	if err != nil || len(events) != 0 || state.Revision != 251 {
		t.Errorf("events after the last: %v, %+v, %v", events, state, err)
	}
}

func testEventSize(t *testing.T, target Target) {
	s := target.session(t)
	large := string(bytes.Repeat([]byte("x"), 3<<20))
	revision := s.apply(create("a", large)).Revision
	for range 7 {
		revision = s.apply(update("a", revision, large)).Revision
	}
	after := engine.Revision(1)
	for after < revision {
		events := s.events(after, 1000)
		if len(events) == 0 {
			t.Fatalf("no events after %d of %d", after, revision)
		}
		for _, event := range events {
			after++
			if event.Revision != after || len(event.Value.Data) != len(large) {
				t.Fatalf("event %d of %d bytes came where %d was due", event.Revision, len(event.Value.Data), after)
			}
		}
	}
}

func testEventTimes(t *testing.T, target Target) {
	s := target.session(t)
	before := time.Now().Add(-time.Minute)
	times := []time.Time{}
	for i := range 5 {
		times = append(times, s.commit(create(fmt.Sprint(i), "")).Time)
	}
	for i, event := range s.eventsAfter(1) {
		if !event.Time.Equal(times[i]) || event.Time.Before(before) || event.Time.After(before.Add(2*time.Minute)) {
			t.Errorf("event of %v, its batch of %v", event.Time, times[i])
		}
	}
}

func (s session) horizon(keep time.Duration, maxBytes int64) engine.Revision {
	s.Helper()
	revision, err := s.engine.Horizon(s.Context(), keep, maxBytes)
	if err != nil {
		s.Fatalf("horizon: %v", err)
	}
	return revision
}

func testHorizonBytes(t *testing.T, target Target) {
	s := target.session(t)
	s.same("horizon of an empty database", s.horizon(time.Hour, 10), engine.Revision(0))
	const each = engine.EventOverhead + 1   // Bytes of an event, with its key.
	s.apply(create("a", "12345"))           // 2
	s.apply(update("a", 2, "12345"))        // 3: 5 bytes more
	s.apply(update("a", 3, "1234567"))      // 4: 5
	s.apply(remove("a", 4))                 // 5: 7
	s.apply(create("b", "not history yet")) // 6
	want := func(maxBytes int64, want engine.Revision) {
		t.Helper()
		s.same(fmt.Sprintf("horizon of %d bytes", maxBytes), s.horizon(time.Hour, maxBytes), want)
	}
	for maxBytes, horizon := range map[int64]engine.Revision{
		0: 0, 9 * each: 0, 5*each + 17: 0, 5*each + 16: 2, 4*each + 17: 2, 4*each + 16: 3, 3*each + 12: 3, 3*each + 11: 4,
		2*each + 7: 4, 2*each + 6: 5, each: 5, each - 1: 6, 1: 6,
	} {
		want(maxBytes, horizon)
	}
	s.compact(3)
	for maxBytes, horizon := range map[int64]engine.Revision{0: 0, 3*each + 12: 0, 3*each + 11: 4, 2*each + 6: 5} {
		want(maxBytes, horizon)
	}
	s.compact(6)
	want(1, 0)
}

// testHorizonTime reads the clock of the database from commits before and
// after each question, so it needs no clock of its own.
func testHorizonTime(t *testing.T, target Target) {
	s := target.session(t)
	var times []time.Time // of revision i+2
	commit := func() time.Time {
		times = append(times, s.commit(create(fmt.Sprint(len(times)), "")).Time)
		return times[len(times)-1]
	}
	commit()
	s.same("horizon of an hour", s.horizon(time.Hour, 0), engine.Revision(0))
	for times[len(times)-1].Sub(times[0]) < 20*time.Millisecond {
		commit()
	}
	older := func(limit time.Time) engine.Revision {
		var revision engine.Revision
		for i, at := range times {
			if at.Before(limit) {
				revision = engine.Revision(i + 2)
			}
		}
		return revision
	}
	const keep = 5 * time.Millisecond
	low := older(commit().Add(-keep))
	got := s.horizon(keep, 0)
	high := older(commit().Add(-keep + 2*time.Millisecond))
	if got < low || got > high || low == 0 {
		t.Errorf("horizon is %d, want one of %d to %d", got, low, high)
	}
	if both := s.horizon(time.Hour, 1<<30); both != 0 {
		t.Errorf("horizon is %d although history is within both limits", both)
	}
}
