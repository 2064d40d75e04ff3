// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/server/imports"
)

// Copy copies objects from a source that can't be watched.
type Copy struct {
	// Kinds of what is copied.
	Kinds []imports.Kind
	// Replace makes the destination equal to the source. Otherwise objects that the
	// destination already has are left alone.
	Replace bool
	// Verify only compares.
	Verify bool
	// AllowEmpty permits a source without objects. Otherwise that is [ErrEmpty], because
	// it is usually the wrong source, and Replace would delete all objects.
	AllowEmpty bool
	// Out receives messages, Err progress.
	Out, Err io.Writer
	// Clock is the real one if nil.
	Clock clock.Clock
}

// ErrEmpty is returned for a source without objects.
var ErrEmpty = errors.New("the source has no objects of these API groups")

// Database copies the objects of one database into another, with all metadata, and
// compares them. It can be interrupted and called again. Clients of servers on the
// destination list again, because its resource versions are different ones.
func (c Copy) Database(ctx context.Context, from, to Place) error {
	if !c.Verify {
		state, err := from.Store.State(ctx)
		if err != nil {
			return err
		}
		if _, _, err := to.Store.RaiseFloor(ctx, state.Revision, false); err != nil {
			return err
		}
	}
	return c.toPlace(ctx, from, to)
}

// toPlace copies into a database.
func (c Copy) toPlace(ctx context.Context, from reader, to Place) error {
	mode := imports.Fill
	if c.Replace {
		mode = imports.Replace
	}
	return c.run(ctx, from, to.destination(c.retrier()), mode)
}

// toServer copies into a running server. Objects that clients have changed there since an
// earlier copy are left alone.
func (c Copy) toServer(ctx context.Context, from reader, docket *rest.Config) error {
	client, err := newClient(docket)
	if err != nil {
		return err
	}
	to := docketServer(&api{client: client, retry: c.retrier()})
	return c.run(ctx, from, to, imports.Tail)
}

func (c Copy) retrier() *retrier {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return &retrier{clock: c.Clock, report: (&printer{out: c.Out, err: c.Err, clock: c.Clock}).trouble}
}

func (c Copy) run(ctx context.Context, from reader, to destination, mode imports.Mode) error {
	// The state is not saved: an interrupted copy is continued by comparing.
	state, tally := newState(), newTally()
	var copiers []*copier
	for _, kind := range c.Kinds { // One kind at a time: a reader may serve one goroutine only.
		copiers = append(copiers, &copier{kinds: []imports.Kind{kind}, from: from, to: to, state: state, tally: tally})
	}
	if err := c.wantReports(ctx, copiers); err != nil {
		return err
	}
	if !c.Verify {
		if err := c.copy(ctx, copiers, tally, mode); err != nil {
			return err
		}
	}
	return c.compare(ctx, copiers, mode)
}

// wantReports returns ErrEmpty if the source has no objects, unless that is allowed.
func (c Copy) wantReports(ctx context.Context, copiers []*copier) error {
	if c.AllowEmpty {
		return nil
	}
	for _, one := range copiers {
		for _, kind := range one.kinds {
			for _, err := range one.from.list(ctx, kind, false, nil) {
				return describe(kind, err)
			}
		}
	}
	return ErrEmpty
}

func (c Copy) copy(ctx context.Context, copiers []*copier, tally *tally, mode imports.Mode) error {
	bar := progress.New(c.Err, 0, "copy")
	defer bar.Done()
	tally.show(bar)
	for _, one := range copiers {
		if err := one.reconcile(ctx, mode); err != nil {
			return err
		}
	}
	bar.Done()
	tally.print(c.Out)
	return tally.failures()
}

// compare returns an error if the sides differ, as they do while clients write to either.
func (c Copy) compare(ctx context.Context, copiers []*copier, mode imports.Mode) error {
	var v Verification
	for _, one := range copiers {
		// In mode Tail clients work with the destination.
		if err := one.verify(ctx, &v, mode == imports.Tail); err != nil {
			return err
		}
	}
	v.print(c.Out)
	if !v.OK() {
		return errors.New("the two sides differ: stop whatever writes to the source and run this command again; " +
			"--replace makes the destination equal to the source")
	}
	return nil
}
