// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/hub"
)

// narrow is a model that counts reads of events, gives a few at once, and can be held up.
type narrow struct {
	*enginetest.Model
	most int
	hold chan struct{}

	mu    sync.Mutex
	reads []engine.Revision
}

func (n *narrow) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	n.mu.Lock()
	n.reads = append(n.reads, after)
	n.mu.Unlock()
	if n.hold != nil {
		<-n.hold
	}
	return n.Model.Events(ctx, after, min(limit, n.most))
}

// hub of the present state.
func (n *narrow) hub(t *testing.T) *hub.Hub[change] {
	t.Helper()
	state := testkit.Must(n.State(t.Context()))(t)
	return hub.New[change](1<<20, state)
}

func newNarrow(t *testing.T, most, events int) *narrow {
	t.Helper()
	n := &narrow{Model: enginetest.NewModel(clock.RealClock{}.Now), most: most}
	n.write(t, events)
	return n
}

func (n *narrow) write(t *testing.T, events int) {
	t.Helper()
	for range events {
		state, err := n.State(t.Context())
		if err == nil {
			_, err = n.Commit(t.Context(), []engine.Op{{Kind: engine.Create, Resource: "/a/", Key: fmt.Sprint(state.Revision)}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func all(*hub.Entry[change]) bool { return true }

// readOn reads to the end of the table, and returns how many events there were.
func readOn(t *testing.T, h *history, after engine.Revision) (count int) {
	t.Helper()
	for {
		entries, next := testkit.Must2(h.read(t.Context(), after, all, nil, 7))(t)
		for i, e := range entries {
			if want := after + engine.Revision(i) + 1; e.Revision != want {
				t.Fatalf("got revision %d, want %d", e.Revision, want)
			}
		}
		if next == after {
			return count
		}
		after, count = next, count+len(entries)
	}
}

func TestHistoryIsShared(t *testing.T) {
	t.Parallel()
	e := newNarrow(t, 300, 1200) // Revisions 2 to 1201.
	h := newHistory(e, e.hub(t), 1<<30)
	for after := engine.Revision(1); after < 1201; after += 50 {
		if got, want := readOn(t, h, after), 1201-int(after); got != want {
			t.Errorf("read %d events after %d, want %d", got, after, want)
		}
	}
	want := []engine.Revision{0, 301, 500, 800, 1000} // Pages of 500, in parts since no more come at once.
	seen := map[engine.Revision]int{}
	var firstReads []engine.Revision
	for _, after := range e.reads {
		if seen[after]++; seen[after] == 1 && after < 1201 {
			firstReads = append(firstReads, after)
		}
	}
	testkit.NoDiff(t, cmp.Diff(want, firstReads), "pages (-want +got)")
	for _, after := range want[:4] { // The last page is read again: there might be more.
		if seen[after] != 1 {
			t.Errorf("the page after %d was read %d times", after, seen[after])
		}
	}
	e.write(t, 10)
	if got := readOn(t, h, 1201); got != 10 {
		t.Errorf("read %d new events, want 10", got)
	}
}

func TestHistoryAfterCompaction(t *testing.T) {
	t.Parallel()
	e := newNarrow(t, 500, 600)
	hubOfOld := e.hub(t) // It has not heard of the compaction.
	h := newHistory(e, hubOfOld, 1<<30)
	testkit.NoError(t, e.Compact(t.Context(), 100))
	if got := readOn(t, h, 100); got != 501 {
		t.Errorf("read %d events, want 501", got)
	}
	if _, _, err := h.read(t.Context(), 99, all, nil, 7); !errors.Is(err, engine.ErrCompacted) {
		t.Errorf("below history: %v", err)
	}
}

// Pages are forgotten when there is no room, and read once for all who wait.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	e := newNarrow(t, 500, 2600)
	h := newHistory(e, e.hub(t), 500_000)
	readOn(t, h, 1)
	if len(h.pages) < 2 || h.order.Len() != len(h.pages) || h.bytes > h.limit {
		t.Errorf("%d pages of %d bytes, limit %d", len(h.pages), h.bytes, h.limit)
	}
	h.clear()
	e.hold, e.reads = make(chan struct{}), nil
	var readers sync.WaitGroup
	for range 10 {
		readers.Go(func() {
			if _, _, err := h.read(t.Context(), 10, all, nil, 7); err != nil {
				t.Error(err)
			}
		})
	}
	close(e.hold)
	readers.Wait()
	if len(e.reads) != 1 {
		t.Errorf("ten readers of a page read it %d times", len(e.reads))
	}
}

// Those who are far behind go first, but no one waits forever.
func TestGate(t *testing.T) {
	t.Parallel()
	g := gate{free: 1}
	g.enter(0)
	var order []engine.Revision
	var mu sync.Mutex
	var running sync.WaitGroup
	for i, revision := range []engine.Revision{50, 40, 30, 20, 10} {
		running.Go(func() {
			g.enter(revision)
			mu.Lock()
			order = append(order, revision)
			mu.Unlock()
			g.leave()
		})
		for g.waits() != i+1 {
		}
	}
	g.leave()
	running.Wait()
	testkit.NoDiff(t, cmp.Diff([]engine.Revision{50, 10, 40, 20, 30}, order), "order (-want +got)")
	if g.free != 1 {
		t.Errorf("%d places are free", g.free)
	}
}

func (g *gate) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
