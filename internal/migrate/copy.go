// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/progress"
	"github.com/docket-project/docket/internal/registry"
	"github.com/docket-project/docket/internal/store"
)

// Copy says how reports are copied from a place that isn't watched.
type Copy struct {
	// Groups whose reports are copied.
	Groups []string
	// Replace makes the destination equal to the source. Otherwise reports that the
	// destination has already are left alone.
	Replace bool
	// Verify only compares.
	Verify bool
	// AllowEmpty lets the source have no reports. Otherwise that is [ErrEmpty]: mostly
	// it is the wrong one, and to replace by it deletes all reports.
	AllowEmpty bool
	// Out is for what is done, Err for progress.
	Out, Err io.Writer
	// Clock; the real one when nil.
	Clock clock.Clock
}

// ErrEmpty is for a source without reports.
var ErrEmpty = errors.New("the source has no reports of these API groups")

// Place is a database that this process has opened.
type Place struct {
	Store   *store.Store
	Storage imports.Storage
}

// Database copies the reports of one database into another, with all metadata, and
// compares them. It can be interrupted and called again. Clients of servers on the
// destination list again, since the resource versions are others.
func (c Copy) Database(ctx context.Context, from, to Place) error {
	work := c.begin()
	source, destination := localSource{newLocal(from.Storage, work.retry)}, newLocal(to.Storage, work.retry)
	if !c.Verify {
		state, err := from.Store.State(ctx)
		if err != nil {
			return err
		}
		if _, _, err := to.Store.RaiseFloor(ctx, state.Revision, false); err != nil {
			return err
		}
	}
	mode := imports.Fill
	if c.Replace {
		mode = imports.Replace
	}
	return work.run(ctx, source, destination, mode)
}

// server copies reports of a source into a running server. Reports that clients have
// changed there since an earlier copy are left alone.
func (c Copy) server(ctx context.Context, from source, docket *rest.Config) error {
	work := c.begin()
	client, err := newClient(docket)
	if err != nil {
		return err
	}
	to := docketServer{&api{client: client, version: realVersion, retry: work.retry}}
	return work.run(ctx, from, to, imports.Tail)
}

// copying is a Copy under way.
type copying struct {
	Copy

	retry *retrier
	tally *tally
	state *State
	out   *printer
}

func (c Copy) begin() *copying {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	out := &printer{out: c.Out, err: c.Err, clock: c.Clock}
	return &copying{
		Copy: c, retry: &retrier{clock: c.Clock, tell: out.trouble}, tally: newTally(), out: out,
		// In memory: what was copied is found out by comparing.
		state: &State{data: stateData{Groups: map[string]*groupState{}, Checkpoints: map[string]string{}}},
	}
}

func (c *copying) run(ctx context.Context, from source, to destination, mode imports.Mode) error {
	if err := registry.ValidateGroups(c.Groups); err != nil {
		return err
	}
	var kinds []registry.Kind
	for _, kind := range registry.Kinds() {
		for _, group := range c.Groups {
			if kind.GroupVersionKind.Group == group {
				kinds = append(kinds, kind)
			}
		}
	}
	if err := c.wantReports(ctx, kinds, from); err != nil {
		return err
	}
	if !c.Verify {
		if err := c.copy(ctx, kinds, from, to, mode); err != nil {
			return err
		}
	}
	return c.compare(ctx, kinds, from, to, mode)
}

// wantReports returns ErrEmpty if the source has no reports, and that is not allowed.
func (c *copying) wantReports(ctx context.Context, kinds []registry.Kind, from source) error {
	if c.AllowEmpty {
		return nil
	}
	for _, kind := range kinds {
		var version string
		for _, err := range from.list(ctx, kind, false, &version) {
			if err != nil {
				return describe(kind, err)
			}
			return nil
		}
	}
	return ErrEmpty
}

func (c *copying) copy(ctx context.Context, kinds []registry.Kind, from source, to destination, mode imports.Mode) error {
	bar := progress.New(c.Err, 0, "copy")
	defer bar.Done()
	c.tally.show(bar)
	for _, kind := range kinds {
		one := &copier{
			kind: kind, from: from, to: to, tally: c.tally, clock: c.Clock,
			checkpoint: &Checkpoint{c.state, kind.GroupResource().String()},
		}
		if err := one.reconcile(ctx, mode); err != nil {
			return describe(kind, err)
		}
	}
	bar.Done()
	c.tally.print(c.Out)
	return c.tally.failures()
}

// compare fails where the sides differ: clients that write to the source or to the
// destination make them so.
func (c *copying) compare(ctx context.Context, kinds []registry.Kind, from source, to destination, mode imports.Mode) error {
	v := Verification{Counts: map[Difference]int{}}
	for _, kind := range kinds {
		// Where clients work with the destination, theirs is what differs.
		check := &verifier{kind: kind, from: from, to: to, switched: mode == imports.Tail, retry: c.retry}
		if err := check.run(ctx, &v); err != nil {
			return describe(kind, fmt.Errorf("verify: %w", err))
		}
	}
	v.print(c.Out)
	if !v.OK() {
		return errors.New("the two sides differ: stop whatever writes to the source and run this again; " +
			"--replace makes the destination equal to the source")
	}
	return nil
}
