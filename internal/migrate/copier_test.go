// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// watched is a database with a watch that the test writes.
type watched struct {
	Place

	// script is called for each watch, with what handles its events.
	script func(ctx context.Context, version string, handle func(event) error) error
}

func (w watched) watch(ctx context.Context, _ imports.Kind, version string, handle func(event) error) error {
	return w.script(ctx, version, handle)
}

// TestFollow: the events of a watch are imported, an expired watch is replaced by comparing,
// and what no watch delivered is imported at the end.
func TestFollow(t *testing.T) {
	t.Parallel()
	source, place := opened(t, databases(t)["sqlite"]), opened(t, databases(t)["sqlite"])
	kind, object := made(t, 0)
	create := func(name string) *entry {
		t.Helper()
		object.SetName(name)
		importInto(t, source, imports.Request{Mode: imports.Fill, Items: []imports.Item{itemFor(t, kind, object, 0)}})
		return testkit.Must(source.get(t.Context(), kind, object.GetNamespace(), name))(t)
	}
	remove := func(e *entry) {
		t.Helper()
		current := testkit.Must(source.Storage.Get(t.Context(), kind, e.namespace, e.name))(t)
		testkit.NoError(t, source.Storage.Delete(t.Context(), kind, current))
	}
	listed, gone := create("listed"), create("gone")
	watches, rewatched := 0, make(chan struct{})
	c := &copier{kinds: []imports.Kind{kind}, to: place.destination(testRetrier()), state: newState(), tally: newTally()}
	c.from = watched{source, func(ctx context.Context, version string, handle func(event) error) error {
		if watches++; watches > 1 {
			close(rewatched)
			<-ctx.Done()
			return ctx.Err()
		}
		if version != fmt.Sprint(c.state.imported(kind)) || c.state.imported(kind) < listed.version {
			t.Errorf("the watch begins at %s", version)
		}
		made := create("made")
		remove(gone)
		for _, e := range []event{
			{entry: made, version: fmt.Sprint(made.version)},
			{entry: gone, version: fmt.Sprint(made.version + 1), deleted: true},
			{version: fmt.Sprint(made.version + 1)},
		} {
			if err := handle(e); err != nil {
				return err
			}
		}
		waitForKeys(t, place, kind, "listed", "made") // By its events alone.
		create("missed")
		return errExpired
	}}
	testkit.NoError(t, c.reconcile(t.Context(), imports.Mirror))
	testkit.NoError(t, c.followWhile(t.Context(), imports.Mirror, func(ctx context.Context) error {
		select {
		case <-rewatched:
			create("last")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	waitForKeys(t, place, kind, "last", "listed", "made", "missed")
	if imported := c.state.imported(kind); imported <= listed.version {
		t.Errorf("the checkpoint is %d", imported)
	}
}

// TestFollowFails: the error of a watch ends what runs meanwhile, and is returned.
func TestFollowFails(t *testing.T) {
	t.Parallel()
	kind, _ := made(t, 0)
	broken := errors.New("broken watch")
	place := opened(t, databases(t)["sqlite"])
	c := &copier{
		kinds: []imports.Kind{kind}, to: place.destination(testRetrier()), state: newState(), tally: newTally(),
		from: watched{place, func(context.Context, string, func(event) error) error { return broken }},
	}
	err := c.followWhile(t.Context(), imports.Mirror, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, broken) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// waitForKeys waits until the reports of a kind have these names.
func waitForKeys(t *testing.T, place Place, kind imports.Kind, want ...string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var names []string
		for e, err := range place.list(ctx, kind, false, nil) {
			if err != nil {
				return false, err
			}
			names = append(names, e.name)
		}
		return slices.Equal(names, want), nil
	})
	if err != nil {
		t.Errorf("wait for %v: %v", want, err)
	}
}
