// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/writer"
)

// committer records batches. It blocks in a commit until release is called.
type committer struct {
	mu      sync.Mutex
	batches [][]engine.Op
	next    engine.Revision
	err     error
	gate    chan struct{}
}

func (c *committer) Prepare(context.Context, *engine.Op) (release func(), err error) {
	return func() {}, nil
}

func (c *committer) Commit(_ context.Context, ops []engine.Op) (engine.Batch, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = append(c.batches, ops)
	if c.err != nil {
		return engine.Batch{}, c.err
	}
	var batch engine.Batch
	for _, op := range ops {
		if op.Key == "bad" {
			return engine.Batch{}, engine.ErrTooLarge
		}
	}
	for _, op := range ops {
		if op.Key == "conflict" {
			batch.Outcomes = append(batch.Outcomes, engine.Outcome{Current: &engine.Row{Key: op.Key}})
			continue
		}
		c.next++
		batch.Outcomes = append(batch.Outcomes, engine.Outcome{Revision: c.next})
	}
	batch.State.Revision = c.next
	return batch, nil
}

func op(key string) engine.Op { return engine.Op{Kind: engine.Create, Resource: "/r/", Key: key} }

// start runs a writer in the bubble of t until it ends.
func start(t *testing.T, c *committer) (*writer.Writer, *[]engine.Revision) {
	t.Helper()
	fed := &[]engine.Revision{}
	w := writer.New(c, func(events []engine.Event, _ engine.State) {
		for _, e := range events {
			*fed = append(*fed, e.Revision)
		}
	}, clock.RealClock{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return w, fed
}

func TestGathersWhileCommitting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &committer{gate: make(chan struct{})}
		w, fed := start(t, c)
		var group sync.WaitGroup
		submit := func(key string) {
			group.Go(func() {
				if _, err := w.Submit(t.Context(), op(key), engine.Value{}); err != nil {
					t.Errorf("submit %s: %v", key, err)
				}
			})
			synctest.Wait()
		}
		submit("first")
		for i := range 5 {
			submit(fmt.Sprint("later", i))
		}
		// A second change of a key that waits goes to a batch of its own.
		submit("later0")
		close(c.gate)
		group.Wait()
		if got := []int{len(c.batches[0]), len(c.batches[1]), len(c.batches[2])}; got[0] != 1 || got[1] != 5 || got[2] != 1 {
			t.Errorf("batches of %v ops, want 1, 5 and 1", got)
		}
		if len(*fed) != 7 || (*fed)[6] != 7 {
			t.Errorf("fed revisions %v, want 1 to 7", *fed)
		}
	})
}

func TestFailureOfOneIsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, fed := start(t, &committer{})
		lost, err := w.Submit(t.Context(), op("conflict"), engine.Value{})
		if err != nil || lost.Revision != 0 || lost.Current == nil {
			t.Errorf("conflict: %+v, %v; want the current row", lost, err)
		}
		won, err := w.Submit(t.Context(), op("fine"), engine.Value{})
		if err != nil || won.Revision != 1 || len(*fed) != 1 {
			t.Errorf("neighbour: %+v, %v, fed %v", won, err, *fed)
		}
	})
}

// Guarantee S6: a change that the database can't take fails alone.
func TestBadChangeFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &committer{gate: make(chan struct{})}
		w, fed := start(t, c)
		var group sync.WaitGroup
		for _, key := range []string{"first", "a", "bad", "b"} {
			group.Go(func() {
				_, err := w.Submit(t.Context(), op(key), engine.Value{})
				if bad := key == "bad"; bad != errors.Is(err, engine.ErrTooLarge) || !bad && err != nil {
					t.Errorf("%s: %v", key, err)
				}
			})
			synctest.Wait()
		}
		close(c.gate)
		group.Wait()
		if len(*fed) != 3 {
			t.Errorf("fed revisions %v, want 3", *fed)
		}
	})
}

func TestBatchErrorReachesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, fed := start(t, &committer{err: engine.ErrUnavailable})
		if _, err := w.Submit(t.Context(), op("a"), engine.Value{}); !errors.Is(err, engine.ErrUnavailable) || len(*fed) != 0 {
			t.Errorf("error %v, fed %v; want ErrUnavailable and nothing", err, *fed)
		}
	})
}

func TestGivenUpBeforeItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &committer{gate: make(chan struct{})}
		w, _ := start(t, c)
		var group sync.WaitGroup
		group.Go(func() { _, _ = w.Submit(t.Context(), op("first"), engine.Value{}) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := w.Submit(ctx, op("given up"), engine.Value{}); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		group.Go(func() { _, _ = w.Submit(t.Context(), op("last"), engine.Value{}) })
		synctest.Wait()
		close(c.gate)
		group.Wait()
		for _, batch := range c.batches {
			for _, o := range batch {
				if o.Key == "given up" {
					t.Error("a change that nobody waits for was committed")
				}
			}
		}
	})
}

func TestStopped(t *testing.T) {
	t.Parallel()
	w := writer.New(&committer{}, func([]engine.Event, engine.State) {}, clock.RealClock{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	testkit.NoError(t, w.Run(ctx))
	if _, err := w.Submit(context.Background(), op("late"), engine.Value{}); !errors.Is(err, writer.ErrStopped) {
		t.Errorf("error %v, want ErrStopped", err)
	}
}

// TestFullDatabaseIsSaid: the log says once that the database has no space, and once that it has some again. Not
// parallel: klog's logger is global.
func TestFullDatabaseIsSaid(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	klog.SetLogger(funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	c := &committer{}
	w, _ := start(t, c)
	for _, err := range []error{nil, engine.ErrFull, engine.ErrFull, engine.ErrUnavailable, engine.ErrFull, nil, nil, engine.ErrFull} {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		if _, got := w.Submit(t.Context(), op("a"), engine.Value{}); !errors.Is(got, err) {
			t.Errorf("got the error %v, want %v", got, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	var said []string
	for _, line := range lines {
		for _, text := range []string{"no space left", "space again"} {
			if strings.Contains(line, text) {
				said = append(said, text)
			}
		}
	}
	if want := []string{"no space left", "space again", "no space left"}; !slices.Equal(said, want) {
		t.Errorf("the log says %q, want %q", said, want)
	}
}
