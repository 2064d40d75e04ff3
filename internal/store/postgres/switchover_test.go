// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// either is the URL of a database on whichever of two servers takes writes.
func either(t *testing.T, database string, a, b *testenv.Dedicated) string {
	t.Helper()
	return edit(t, testenv.WithAddr(t, database, a.Addr()+","+b.Addr()), func(u *url.URL) {
		query := u.Query()
		query.Set("target_session_attrs", "read-write")
		u.RawQuery = query.Encode()
	})
}

// wentOn checks that e is of a new incarnation, far ahead of before, and that history goes on over a gap.
func wentOn(t *testing.T, e engine.Engine, before engine.State) engine.State {
	t.Helper()
	state := present(t, e)
	want := engine.State{
		Revision: state.Revision, Compacted: before.Compacted, Incarnation: state.Incarnation,
		Gap: engine.Gap{After: before.Revision, To: state.Revision, Before: before.Incarnation},
	}
	if diff := cmp.Diff(want, state); diff != "" || state.Revision < before.Revision+1_000_000 || state.Incarnation <= before.Incarnation {
		t.Fatalf("state was %+v (-want +got):\n%s", before, diff)
	}
	return state
}

// revisionsAfter reads events in small pages.
func revisionsAfter(t *testing.T, e engine.Engine, after engine.Revision) []engine.Revision {
	t.Helper()
	var revisions []engine.Revision
	for {
		events, state, err := e.Events(t.Context(), after, 3)
		if err != nil {
			t.Fatalf("events after %d: %v", after, err)
		}
		for _, event := range events {
			revisions = append(revisions, event.Revision)
			after = event.Revision
		}
		if len(events) == 0 || after == state.Revision {
			return revisions
		}
	}
}

// TestSwitchover promotes a synchronous standby after the primary was stopped in order, twice: history goes on, and
// what clients know stays valid. The second time what is before the first gap is given up.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	primary := testenv.NewPostgres(t)
	database := primary.Database(t)
	standby := primary.Standby(t)
	address := either(t, database, primary, standby)
	e := open(t, address, "main")
	var before engine.State
	for i := range 8 {
		before = commit(t, e, []engine.Op{create(fmt.Sprint(i))}).State
	}
	primary.Stop(t)
	standby.Promote(t)

	fresh := open(t, address, "main") // It has seen nothing, and comes first.
	state := wentOn(t, fresh, before)
	if got := present(t, e); got != state {
		t.Fatalf("the replica that was there has %+v, the new one %+v", got, state)
	}
	last := commit(t, e, []engine.Op{create("after"), create("after too")}).State.Revision
	checkGap(t, e, state.Gap, last)

	second := standby.Standby(t)
	before = present(t, e)
	standby.Stop(t)
	second.Promote(t)
	again := open(t, either(t, database, standby, second), "main")
	now := present(t, again)
	want := engine.Gap{After: last, To: now.Revision, Before: before.Incarnation}
	if now.Gap != want || now.Compacted != state.Gap.To || now.Revision < last+1_000_000 {
		t.Errorf("the second time: %+v, want a gap %+v and nothing below %d", now, want, state.Gap.To)
	}
	if got := revisionsAfter(t, again, state.Gap.To); len(got) != 2 || got[1] != last {
		t.Errorf("events after the first gap: %v", got)
	}
	if _, _, err := again.Events(t.Context(), state.Gap.After, 1); !errors.Is(err, engine.ErrCompacted) {
		t.Errorf("events from before both gaps: %v", err)
	}
}

// checkGap checks what reads see of a history of eight events, a gap and two more.
func checkGap(t *testing.T, e engine.Engine, gap engine.Gap, last engine.Revision) {
	t.Helper()
	want := []engine.Revision{2, 3, 4, 5, 6, 7, 8, 9, gap.To + 1, last}
	testkit.NoDiff(t, cmp.Diff(want, revisionsAfter(t, e, 1)), "events (-want +got)")
	for _, after := range []engine.Revision{gap.After, gap.To} {
		testkit.NoDiff(t, cmp.Diff(want[8:], revisionsAfter(t, e, after)), "events after %d (-want +got)", after)
	}
	for _, lost := range []engine.Revision{gap.After + 1, gap.To - 1} {
		if _, _, err := e.Events(t.Context(), lost, 10); !errors.Is(err, engine.ErrCompacted) {
			t.Errorf("events after %d, which was left out: %v", lost, err)
		}
		if _, err := e.List(t.Context(), engine.Query{Resource: reports, At: lost}); !errors.Is(err, engine.ErrCompacted) {
			t.Errorf("list at %d, which was left out: %v", lost, err)
		}
	}
	for at, rows := range map[engine.Revision]int{5: 4, gap.After: 8, gap.To: 8, last: 10} {
		if page, err := e.List(t.Context(), engine.Query{Resource: reports, At: at}); err != nil || len(page.Rows) != rows {
			t.Errorf("list at %d: %d rows, %v, want %d", at, len(page.Rows), err, rows)
		}
	}
	if usage, err := e.Usage(t.Context()); err != nil || usage.Events != int64(len(want)) {
		t.Errorf("usage: %+v, %v, want %d events", usage, err, len(want))
	}
	for keep, horizon := range map[time.Duration]engine.Revision{time.Hour: 0, -time.Hour: last} {
		if got, err := e.Horizon(t.Context(), keep, 0); err != nil || got != horizon {
			t.Errorf("horizon of %s is %d, %v, want %d", keep, got, err, horizon)
		}
	}
	// The newest two events, and some of those before the gap.
	if got, err := e.Horizon(t.Context(), time.Hour, 4*310); err != nil || got < 5 || got > 8 {
		t.Errorf("horizon by size is %d, %v", got, err)
	}
	testkit.NoError(t, e.Compact(t.Context(), 5))
	testkit.NoDiff(t, cmp.Diff(want[4:], revisionsAfter(t, e, 5)), "events after compaction (-want +got)")
}

// TestFailoverThatLostCommits promotes a standby that has not got the last commits: watchers that saw them get an
// error, and the others continue.
func TestFailoverThatLostCommits(t *testing.T) {
	t.Parallel()
	primary := testenv.NewPostgres(t)
	database := primary.Database(t)
	standby := primary.Standby(t)
	e := open(t, either(t, database, primary, standby), "main")
	kept := commit(t, e, []engine.Op{create("kept")}).State
	primary.GoOnAlone(t)
	standby.Stop(t)
	lost := commit(t, e, []engine.Op{create("lost"), create("lost too")}).State
	primary.Kill(t)
	standby.Start(t)
	standby.Promote(t)

	state := wentOn(t, e, kept)
	for revision := kept.Revision + 1; revision <= lost.Revision; revision++ {
		if _, _, err := e.Events(t.Context(), revision, 10); !errors.Is(err, engine.ErrCompacted) {
			t.Errorf("events after %d, which was lost: %v", revision, err)
		}
	}
	commit(t, e, []engine.Op{create("lost")}) // Its verdict is stored again, too.
	if got := revisionsAfter(t, e, kept.Revision); len(got) != 1 || got[0] != state.Revision+1 {
		t.Errorf("events after the failover: %v", got)
	}
}
