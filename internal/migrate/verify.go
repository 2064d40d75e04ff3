// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/docket-project/docket/internal/server/imports"
)

// Difference says how an object differs between the two sides.
type Difference string

// The differences. Clients may cause any except the first three after the switch.
const (
	// Missing: the destination lacks it.
	Missing Difference = "missing"
	// Differs: its content is different.
	Differs Difference = "differs"
	// Extra: only the destination has it.
	Extra Difference = "extra"

	ChangedSince Difference = "changed by clients since"
	DeletedSince Difference = "deleted by clients since"
	CreatedSince Difference = "created by clients since"
	// DeletedAtSource: it was imported, is unchanged, and no longer at the source.
	DeletedAtSource Difference = "deleted at the source since"
)

// explained reports whether clients made a difference, and not the migration.
func (d Difference) explained() bool { return d != Missing && d != Differs && d != Extra }

// Verification is the result of comparing two sides.
type Verification struct {
	// Source and Destination are the numbers of objects; Equal of them have the same
	// content.
	Source, Destination, Equal int
	// Counts are the numbers of differences, and Listed names the objects with an
	// unexplained one.
	Counts map[Difference]int
	Listed []string
}

// add adds the outcome of comparing one object; found is empty if its content is the same.
func (v *Verification) add(kind imports.Kind, p pair, found Difference) {
	if p.from != nil {
		v.Source++
	}
	if p.to != nil {
		v.Destination++
	}
	if found == "" {
		v.Equal++
		return
	}
	if v.Counts == nil {
		v.Counts = map[Difference]int{}
	}
	v.Counts[found]++
	if !found.explained() {
		v.Listed = append(v.Listed, fmt.Sprintf("%s %s: %s", kind.Resource, p.either().key(), found))
	}
}

// OK reports whether there are only differences that clients made.
func (v *Verification) OK() bool { return len(v.Listed) == 0 }

func (v *Verification) print(w io.Writer) {
	fmt.Fprintf(w, "Verified: %d objects at the source, %d at the destination, %d with the same content.\n", v.Source, v.Destination, v.Equal)
	for _, d := range []Difference{ChangedSince, DeletedSince, CreatedSince, DeletedAtSource, Missing, Differs, Extra} {
		if n := v.Counts[d]; n > 0 {
			fmt.Fprintf(w, "  %d %s\n", n, d)
		}
	}
	printList(w, "Differences", v.Listed)
}

const (
	// recheckAttempts is how often an object that differs is compared again: it may be
	// changing just now.
	recheckAttempts = 6
	recheckPause    = 500 * time.Millisecond
)

// verify compares the two sides object by object, and adds the result to v. switched reports
// whether clients use the destination.
func (c *copier) verify(ctx context.Context, v *Verification, switched bool) error {
	for _, kind := range c.kinds {
		compare := &comparison{copier: c, kind: kind, switched: switched}
		for p, err := range c.pairs(ctx, kind, true, true, nil) {
			var found Difference
			if err == nil {
				found, err = compare.settled(ctx, p)
			}
			if err != nil {
				return describe(kind, fmt.Errorf("verify: %w", err))
			}
			v.add(kind, p, found)
		}
	}
	return nil
}

// comparison compares objects of a kind.
type comparison struct {
	*copier

	kind     imports.Kind
	switched bool
}

// settled returns how two objects differ. One that has no explanation is read again some
// times, because the lists are of different moments.
func (c *comparison) settled(ctx context.Context, p pair) (Difference, error) {
	at := p.either()
	for attempt := 0; ; attempt++ {
		found, err := c.difference(p)
		if err != nil || found == "" || found.explained() || attempt == recheckAttempts {
			return found, err
		}
		if err := c.to.retry.sleep(ctx, recheckPause); err != nil {
			return "", err
		}
		if p.from, err = c.from.get(ctx, c.kind, at.namespace, at.name); err != nil {
			return "", err
		}
		if p.to, err = c.to.get(ctx, c.kind, at.namespace, at.name); err != nil {
			return "", err
		}
	}
}

// difference returns how two objects differ; empty if they don't.
func (c *comparison) difference(p pair) (Difference, error) {
	switch {
	case p.from == nil && p.to == nil:
		return "", nil
	case p.to == nil && c.switched && p.from.version != 0 && p.from.version <= c.state.imported(c.kind):
		return DeletedSince, nil
	case p.to == nil:
		return Missing, nil
	}
	have, err := p.to.fingerprint(c.kind, c.to.scope, nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.to.key(), err)
	}
	touched := !p.to.marked || p.to.mark.Fingerprint != have
	if p.from == nil {
		switch {
		case c.switched && touched:
			return CreatedSince, nil
		case c.switched:
			return DeletedAtSource, nil
		}
		return Extra, nil
	}
	want, err := p.from.fingerprint(c.kind, c.to.scope, p.to)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.from.key(), err)
	}
	switch {
	case have == want:
		return "", nil
	case c.switched && touched:
		return ChangedSince, nil
	}
	return Differs, nil
}

// Verify compares the two sides without writing any object. It returns an error if they
// differ by anything that clients have not done since the switch.
func (m *Crds) Verify(ctx context.Context) error {
	state, known, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if !known {
		return fmt.Errorf("there is no migration to verify: ConfigMap %s/%s does not exist", m.options.Namespace, ConfigMapName)
	}
	if err := m.find(ctx); err != nil {
		return err
	}
	if err := m.addVersions(ctx, m.kinds()); err != nil {
		return err
	}
	if err := m.verify(ctx); err != nil || !m.state.allDone() {
		return err
	}
	return m.crds.restore(ctx, m.kinds())
}

func (m *Crds) verify(ctx context.Context) error {
	var v Verification
	for _, g := range m.groups {
		if err := m.copier(g.kinds).verify(ctx, &v, m.state.group(g.name).reached(released)); err != nil {
			return err
		}
	}
	v.print(m.options.Out)
	if !v.OK() {
		return fmt.Errorf("%d objects are not as they should be; the command can be run again", len(v.Listed))
	}
	return nil
}
