// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/server/imports"
)

// ToDocket migrates the custom resources into Docket: it copies and follows them, waits for
// the switch (or makes it), imports the last changes, and verifies. It can be interrupted at
// any time and called again.
func (m *Crds) ToDocket(ctx context.Context) error {
	if err := m.begin(ctx, ToDocket); err != nil {
		return err
	}
	if m.state.allDone() {
		m.out.say("This migration is already done. --verify compares again, --delete-from-cluster frees the space in etcd.")
		return nil
	}
	if err := m.prepareDocket(ctx); err != nil {
		return err
	}
	if err := m.copyAndSwitch(ctx); err != nil {
		return err
	}
	if err := m.finish(ctx); err != nil {
		return err
	}
	m.out.say("Done: the objects are in Docket. Those in etcd are no longer used; --delete-from-cluster deletes them.")
	return nil
}

// begin finds the kinds to migrate, and makes this process the owner of the state.
func (m *Crds) begin(ctx context.Context, direction Direction) error {
	state, known, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if known && state.direction() != direction {
		if !state.allDone() {
			return fmt.Errorf("a migration %s is in progress: finish it with the same command, or end it with --abort", state.direction())
		}
		state.restart()
		known = false
	}
	if err := m.find(ctx); err != nil {
		return err
	}
	if known {
		m.out.say("Continuing the migration of %s.", strings.Join(state.groups(), ", "))
	}
	if err := state.begin(ctx, direction, m.names()); err != nil || state.allDone() {
		return err
	}
	m.groups = slices.DeleteFunc(m.groups, func(g group) bool { return state.group(g.name) == done })
	return nil
}

// finish ends a migration after clients have moved to the destination.
func (m *Crds) finish(ctx context.Context) error {
	m.tally.print(m.options.Out)
	if err := m.tally.failures(); err != nil {
		return err
	}
	if err := m.verify(ctx); err != nil {
		return err
	}
	if err := m.state.advance(ctx, done, m.names()...); err != nil {
		return err
	}
	return m.crds.restore(ctx, m.kinds())
}

// prepareDocket makes both sides ready for a copy.
func (m *Crds) prepareDocket(ctx context.Context) error {
	kinds := m.kinds()
	if err := m.addVersions(ctx, kinds); err != nil {
		return err
	}
	for _, g := range m.groups {
		if err := m.takeHold(ctx, g); err != nil {
			return err
		}
	}
	list, err := m.inCluster.page(ctx, kinds[0], false, 1, "")
	if err != nil {
		return err
	}
	above, err := strconv.ParseInt(list.version, 10, 64)
	if err != nil {
		return fmt.Errorf("resource version of the cluster: %w", err)
	}
	return m.raiseFloor(ctx, imports.FloorRequest{Above: above})
}

// takeHold makes Docket hold requests for a group until everything is copied. If clients
// already use Docket it is too late for that: they work with the objects in it, and nothing that
// they write is overwritten.
func (m *Crds) takeHold(ctx context.Context, g group) error {
	switch m.state.group(g.name) {
	case held: // An interrupted process may not have made the last change of the hold.
		_, err := m.hold(ctx, imports.HoldWait, g.name)
		return err
	case released, done:
		_, err := m.hold(ctx, imports.NoHold, g.name)
		return err
	case begun:
	}
	serving, err := m.services.of(ctx, g)
	if err != nil {
		return err
	}
	if serving.partly {
		m.out.say("%s is already served by an extension server: objects that clients have changed there are left alone.", g.name)
		return m.state.advance(ctx, released, g.name)
	}
	if err := m.checkEmpty(ctx, g.kinds); err != nil {
		return err
	}
	ok, err := m.hold(ctx, imports.HoldWait, g.name)
	if err != nil || !ok {
		return err
	}
	return m.state.advance(ctx, held, g.name)
}

// checkEmpty returns an error if Docket has objects that no migration imported.
func (m *Crds) checkEmpty(ctx context.Context, kinds []imports.Kind) error {
	if m.options.Overwrite {
		return nil
	}
	for _, kind := range kinds {
		for e, err := range m.inDocket.list(ctx, kind, false, nil) {
			if err != nil {
				return err
			}
			if !e.marked {
				return fmt.Errorf("objects that no migration imported are in Docket already: %s such as %s; if they are not needed, --overwrite makes Docket equal to the cluster",
					kind.GroupResource(), e.key())
			}
		}
	}
	return nil
}

// copyAndSwitch moves all groups to Docket.
func (m *Crds) copyAndSwitch(ctx context.Context) error {
	stopBar, err := m.bar(ctx, m.inCluster, m.kinds(), "copy")
	if err != nil {
		return err
	}
	saveCtx, stopSaving := context.WithCancel(ctx)
	defer stopSaving()
	var saver errgroup.Group
	saver.Go(func() error { return m.state.keepSaving(saveCtx) })

	copied := newGate(len(m.groups), func() {
		stopBar()
		m.announce()
	})
	moves, movesCtx := errgroup.WithContext(ctx)
	for _, g := range m.groups {
		moves.Go(func() error { return m.moveGroup(movesCtx, g, copied) })
	}
	err = moves.Wait()
	stopBar()
	stopSaving()
	return errors.Join(err, saver.Wait(), m.state.save(ctx))
}

// announce prints that the groups can be switched.
func (m *Crds) announce() {
	waiting := slices.DeleteFunc(m.names(), func(name string) bool { return m.state.group(name).reached(released) })
	if len(waiting) == 0 {
		return
	}
	m.tally.print(m.options.Out)
	if m.options.Switch {
		m.out.say("All objects are copied. Switching %s to Docket.", strings.Join(waiting, ", "))
		return
	}
	m.out.say("All objects are copied, and changes are followed. Switch now: apply the APIServices that `docket bootstrap %s` prints.",
		strings.Join(waiting, " "))
}

// moveGroup moves one group to Docket.
func (m *Crds) moveGroup(ctx context.Context, g group, copied *gate) error {
	c := m.copier(g.kinds)
	if m.state.group(g.name).reached(released) {
		if err := c.reconcile(ctx, imports.Tail); err != nil {
			return err
		}
		copied.done()
		return m.drain(ctx, c)
	}
	if err := m.copyUntilSwitch(ctx, g, c, copied); err != nil {
		return err
	}
	// So far only this process has written to Docket. From here on clients do, too.
	if err := m.state.advance(ctx, released, g.name); err != nil {
		return err
	}
	if _, err := m.hold(ctx, imports.NoHold, g.name); err != nil {
		return err
	}
	m.out.say("%s is served by Docket now.", g.name)
	return m.drain(ctx, c)
}

// copyUntilSwitch copies and follows a group until the cluster sends its clients to Docket,
// and then imports the last changes. Meanwhile clients wait.
func (m *Crds) copyUntilSwitch(ctx context.Context, g group, c *copier, copied *gate) error {
	if err := c.reconcile(ctx, imports.Mirror); err != nil {
		return err
	}
	if err := m.state.save(ctx); err != nil {
		return err
	}
	copied.done()
	mode := imports.Tail // Without a hold clients write as soon as the group is switched.
	if m.state.group(g.name) == held {
		mode = imports.Mirror
	}
	return c.followWhile(ctx, mode, func(ctx context.Context) error { return m.waitForSwitch(ctx, g, copied) })
}

// waitForSwitch returns when a group is served by Docket. With Options.Switch it switches
// the group once all groups are copied.
func (m *Crds) waitForSwitch(ctx context.Context, g group, copied *gate) error {
	if m.options.Switch {
		if err := copied.wait(ctx); err != nil {
			return err
		}
		if err := m.switchToDocket(ctx, g); err != nil {
			return err
		}
	}
	reported := ""
	return m.retry.until(ctx, "wait for the switch of "+g.name, func() (bool, error) {
		serving, err := m.services.of(ctx, g)
		if err != nil || !serving.extension {
			return false, err
		}
		if !serving.available && serving.why != "" && serving.why != reported {
			reported = serving.why
			m.out.say("%s", reported)
		}
		return serving.available, nil
	})
}

// switchToDocket applies the APIServices of a group.
func (m *Crds) switchToDocket(ctx context.Context, g group) error {
	for _, name := range g.services {
		service := named(m.options.APIServices, name)
		if service == nil {
			return fmt.Errorf("--api-services: there is no APIService %s in the file", name)
		}
		if err := m.services.put(ctx, service); err != nil {
			return err
		}
	}
	return nil
}

// drain imports what still reaches etcd after the switch: from servers of the control plane
// that saw it late, and from writes in flight. It stops serving the real version of the CRDs,
// so that no more writes can follow. This also ends the watches that clients still have there.
func (m *Crds) drain(ctx context.Context, c *copier) error {
	return c.followWhile(ctx, imports.Tail, func(ctx context.Context) error {
		if err := m.retry.sleep(ctx, m.options.Settle); err != nil {
			return err
		}
		if err := m.crds.setServed(ctx, c.kinds, false); err != nil {
			return err
		}
		return m.retry.sleep(ctx, m.options.Settle)
	})
}

// gate opens when a number of parts are done.
type gate struct {
	left   atomic.Int64
	opened chan struct{}
	// open is called when it opens.
	open func()
}

func newGate(parts int, open func()) *gate {
	g := &gate{opened: make(chan struct{}), open: open}
	g.left.Store(int64(parts))
	return g
}

func (g *gate) done() {
	if g.left.Add(-1) == 0 {
		g.open()
		close(g.opened)
	}
}

func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
