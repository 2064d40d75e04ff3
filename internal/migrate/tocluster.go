// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/docket-project/docket/internal/server/imports"
)

// ToCluster migrates the objects from Docket back into custom resources: it makes these equal
// to the objects in Docket and, with Options.Switch, gives the groups back to the cluster and
// verifies. It can be interrupted at any time and called again.
func (m *Crds) ToCluster(ctx context.Context) error {
	if err := m.begin(ctx, ToCluster); err != nil {
		return err
	}
	if m.state.allDone() {
		m.out.say("This migration is already done: the objects are in the cluster.")
		return nil
	}
	kinds := m.kinds()
	if err := m.checkServedByDocket(ctx); err != nil {
		return err
	}
	if err := m.addVersions(ctx, kinds); err != nil {
		return err
	}
	c := m.copier(kinds)
	if !m.released() {
		if err := m.copyBack(ctx, c); err != nil || !m.options.Switch {
			return err
		}
	}
	if err := m.giveBack(ctx, c); err != nil {
		return err
	}
	if err := m.finish(ctx); err != nil {
		return err
	}
	m.out.say("Done: the objects are in the cluster, and Docket answers that they have moved.")
	return nil
}

// released reports whether clients use the custom resources again, or are about to.
func (m *Crds) released() bool {
	for _, name := range m.names() {
		if !m.state.group(name).reached(released) {
			return false
		}
	}
	return true
}

// checkServedByDocket returns an error if clients use the custom resources, which would be
// overwritten.
func (m *Crds) checkServedByDocket(ctx context.Context) error {
	for _, g := range m.groups {
		serving, err := m.services.of(ctx, g)
		if err != nil {
			return err
		}
		if !serving.extension && !m.state.group(g.name).reached(released) {
			return fmt.Errorf("the cluster itself serves %s: there is nothing to move back, and its objects would be overwritten", g.name)
		}
	}
	return nil
}

// copyBack makes the custom resources equal to the objects in Docket, and keeps them so until
// the switch.
func (m *Crds) copyBack(ctx context.Context, c *copier) error {
	// An interrupted migration may have left requests waiting, with much left to copy.
	if _, err := m.hold(ctx, imports.NoHold, m.names()...); err != nil {
		return err
	}
	stopBar, err := m.bar(ctx, m.inDocket, c.kinds, "copy")
	if err != nil {
		return err
	}
	err = c.reconcile(ctx, imports.Mirror)
	stopBar()
	if err != nil {
		return err
	}
	if err := m.state.save(ctx); err != nil {
		return err
	}
	m.tally.print(m.options.Out)
	if !m.options.Switch {
		m.out.say("The custom resources are equal to the objects in Docket, as of a moment ago. With --switch, the same command makes the cluster serve them again.")
		return nil
	}
	m.out.say("Switching %s back to the cluster. Requests wait for some seconds.", strings.Join(m.names(), ", "))
	// Afterwards everything that was acknowledged is in Docket's lists, and nothing follows.
	err = c.followWhile(ctx, imports.Mirror, func(ctx context.Context) error { return m.stopClients(ctx, c.kinds) })
	if err != nil {
		return err
	}
	return m.state.advance(ctx, released, m.names()...)
}

// stopClients makes requests wait at Docket, and returns when the others are done: the
// database rejects writes of a replica that doesn't know of the hold yet.
func (m *Crds) stopClients(ctx context.Context, kinds []imports.Kind) error {
	if err := m.crds.setServed(ctx, kinds, true); err != nil {
		return err
	}
	if err := m.retry.sleep(ctx, m.options.Settle); err != nil {
		return err
	}
	held, err := m.hold(ctx, imports.HoldWait, m.names()...)
	if err != nil || held {
		return err
	}
	return m.retry.sleep(ctx, m.options.Settle)
}

// giveBack makes the cluster serve the groups again. First, watches at Docket end with 410
// while nobody can open one: their clients list next, and that request reaches the cluster.
func (m *Crds) giveBack(ctx context.Context, c *copier) error {
	if err := m.raiseFloor(ctx, imports.FloorRequest{Force: true}); err != nil {
		return err
	}
	if err := m.retry.sleep(ctx, m.options.Settle/2); err != nil {
		return err
	}
	for _, g := range m.groups {
		for _, name := range g.services {
			if err := m.services.makeLocal(ctx, name); err != nil {
				return err
			}
		}
		err := m.retry.until(ctx, "wait for "+g.name, func() (bool, error) {
			serving, err := m.services.of(ctx, g)
			return !serving.partly && serving.available, err
		})
		if err != nil {
			return err
		}
	}
	held, err := m.hold(ctx, imports.HoldMoved, m.names()...)
	if err != nil {
		return err
	}
	m.out.say("%s: served by the cluster again.", strings.Join(m.names(), ", "))
	if !held { // Some commit may have taken longer than the wait.
		if err := m.retry.sleep(ctx, m.options.Settle); err != nil {
			return err
		}
	}
	return c.reconcile(ctx, imports.Tail)
}
