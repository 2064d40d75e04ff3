// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// TestTwice: history without an end has none for long readers, either.
func TestTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, want time.Duration }{{time.Hour, 2 * time.Hour}, {math.MaxInt64/2 + 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}} {
		if got := twice(c.n); got != c.want {
			t.Errorf("twice %s is %s, want %s", c.n, got, c.want)
		}
	}
}

// slowReader does something between the pages of a list.
type slowReader struct {
	engine.Engine
	between func()
}

func (e *slowReader) List(ctx context.Context, q engine.Query) (engine.Page, error) {
	if q.At > 0 {
		e.between()
	}
	return e.Engine.List(ctx, q)
}

// TestLongReadersHoldHistory: what a list reads page by page stays while it reads, up to a bound, and goes after it.
func TestLongReadersHoldHistory(t *testing.T) {
	t.Parallel()
	const event = 1000 // Bytes, about.
	for _, c := range []struct {
		changes int
		want    error
	}{{30, nil}, {300, engine.ErrCompacted}} {
		t.Run(fmt.Sprintf("changes=%d", c.changes), func(t *testing.T) {
			t.Parallel()
			e := &slowReader{Engine: enginetest.NewModel(time.Now)}
			s, err := New(t.Context(), Options{Engine: e, HistoryBytes: 20 * event})
			if err != nil {
				t.Fatal(err)
			}
			write := func(n int) engine.State {
				t.Helper()
				batch := testkit.Must(e.Commit(t.Context(), []engine.Op{{
					Kind: engine.Create, Resource: "/reports/", Key: fmt.Sprintf("%0700d", n), Value: engine.Value{Data: []byte("x")},
				}}))(t)
				return batch.State
			}
			for n := range 3 {
				write(n)
			}
			at := write(3).Revision
			e.between = func() {
				for n := range c.changes {
					write(4 + n)
				}
				testkit.NoError(t, s.dropHistory(t.Context()))
			}
			reader := reader{readers: &s.readers}
			reader.needs(at)
			_, err = e.List(t.Context(), engine.Query{Resource: "/reports/", At: at})
			reader.end()
			if !errors.Is(err, c.want) {
				t.Errorf("the list ends with %v, want %v", err, c.want)
			}
			testkit.NoError(t, s.dropHistory(t.Context()))
			if state, err := e.State(t.Context()); err != nil || state.Compacted <= at {
				t.Errorf("after the list history is kept from %d, %v; want more than %d", state.Compacted, err, at)
			}
		})
	}
}
