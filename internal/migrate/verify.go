// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/docket-project/docket/internal/registry"
)

// Difference is a report that the two sides don't have alike.
type Difference string

// The kinds of differences. All but the first three are what clients may do at the
// destination after the switch.
const (
	// Missing: the destination lacks it.
	Missing Difference = "missing"
	// Differs: its content is another.
	Differs Difference = "differs"
	// Extra: only the destination has it.
	Extra Difference = "extra"

	ChangedSince Difference = "changed by clients since"
	DeletedSince Difference = "deleted by clients since"
	CreatedSince Difference = "created by clients since"
	// DeletedAtSource: it was imported, is as it was, and not at the source any more.
	DeletedAtSource Difference = "deleted at the source since"
)

// explained says that a difference is none that the migration made.
func (d Difference) explained() bool { return d != Missing && d != Differs && d != Extra }

// Verification is the result of comparing two sides.
type Verification struct {
	// Source and Destination are the numbers of reports, Equal of those with the same
	// content.
	Source, Destination, Equal int
	// Counts of the differences, and the reports where they need an explanation.
	Counts map[Difference]int
	Listed []string
}

// OK says that nothing is missing, wrong or too much.
func (v *Verification) OK() bool { return len(v.Listed) == 0 }

func (v *Verification) print(w io.Writer) {
	fmt.Fprintf(w, "Verified: %d reports at the source, %d at the destination, %d with the same content.\n", v.Source, v.Destination, v.Equal)
	for _, d := range []Difference{ChangedSince, DeletedSince, CreatedSince, DeletedAtSource, Missing, Differs, Extra} {
		if n := v.Counts[d]; n > 0 {
			fmt.Fprintf(w, "  %d %s\n", n, d)
		}
	}
	printList(w, "Differences", v.Listed)
}

// verifier compares the two sides of a kind, report by report.
type verifier struct {
	kind registry.Kind
	from source
	to   destination
	// switched says that clients work with the destination, and known is the revision
	// of the source up to which everything was imported then.
	switched bool
	known    uint64
	retry    *retrier
}

const (
	// looks is how often a report is compared that differs: it may be changing.
	looks     = 6
	lookPause = 500 * time.Millisecond
)

// run adds what it finds to v.
func (c *verifier) run(ctx context.Context, v *Verification) error {
	for pair, err := range join(c.from.list(ctx, c.kind, true, nil), c.to.list(ctx, c.kind, true)) {
		if err != nil {
			return err
		}
		from, to := pair[0], pair[1]
		if from != nil {
			v.Source++
		}
		if to != nil {
			v.Destination++
		}
		difference, err := c.compare(from, to)
		if err == nil && difference != "" && !difference.explained() {
			difference, err = c.lookAgain(ctx, from, to)
		}
		switch {
		case err != nil:
			return err
		case difference == "":
			v.Equal++
			continue
		case !difference.explained():
			v.Listed = append(v.Listed, fmt.Sprintf("%s %s: %s", c.kind.Resource, first(from, to).key(), difference))
		}
		v.Counts[difference]++
	}
	return nil
}

func first(a, b *entry) *entry {
	if a != nil {
		return a
	}
	return b
}

// lookAgain compares a report again, some times: the lists are of different moments.
func (c *verifier) lookAgain(ctx context.Context, from, to *entry) (Difference, error) {
	at := first(from, to)
	for range looks {
		if err := c.retry.sleep(ctx, lookPause); err != nil {
			return "", err
		}
		from, err := c.from.get(ctx, c.kind, at.namespace, at.name)
		if err != nil {
			return "", err
		}
		to, err := c.to.get(ctx, c.kind, at.namespace, at.name)
		if err != nil {
			return "", err
		}
		difference, err := c.compare(from, to)
		if err != nil || difference == "" || difference.explained() {
			return difference, err
		}
	}
	return c.compare(from, to)
}

// compare returns how two reports differ; "" if they don't.
func (c *verifier) compare(from, to *entry) (Difference, error) {
	switch {
	case from == nil && to == nil:
		return "", nil
	case to == nil && c.switched && from.version != 0 && from.version <= c.known:
		return DeletedSince, nil
	case to == nil:
		return Missing, nil
	}
	here, err := to.fingerprint(c.kind, c.to.scope(), nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", to.key(), err)
	}
	touched := !to.marked || to.mark.Fingerprint != here
	if from == nil {
		switch {
		case c.switched && touched:
			return CreatedSince, nil
		case c.switched:
			return DeletedAtSource, nil
		}
		return Extra, nil
	}
	there, err := from.fingerprint(c.kind, c.to.scope(), to)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from.key(), err)
	}
	switch {
	case here == there:
		return "", nil
	case c.switched && touched:
		return ChangedSince, nil
	}
	return Differs, nil
}

// Verify compares the two sides without writing any report. It returns an error when
// they differ by anything that clients did not do since the switch.
func (m *Crds) Verify(ctx context.Context) error {
	state, known, err := loadState(ctx, m.kube, m.options.Namespace, m.retry)
	if err != nil {
		return err
	}
	m.state = state
	if !known {
		return fmt.Errorf("there is no migration to verify: ConfigMap %s/%s does not exist", m.options.Namespace, ConfigMapName)
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	kinds := all(found)
	if err := m.addVersions(ctx, kinds); err != nil {
		return err
	}
	if err := m.verify(ctx, kinds); err != nil || !m.state.allDone() {
		return err
	}
	return m.removeVersions(ctx, kinds)
}

func (m *Crds) verify(ctx context.Context, kinds []registry.Kind) error {
	v := Verification{Counts: map[Difference]int{}}
	for _, kind := range kinds {
		c := &verifier{kind: kind, from: m.inCluster, to: docketServer{m.inDocket}, retry: m.retry}
		if m.state.direction() == ToCluster {
			c.from, c.to = m.inDocket, newCluster(m.inCluster)
		}
		if c.switched = m.state.group(kind.GroupVersionKind.Group).Released; c.switched {
			c.known = (&Checkpoint{m.state, kind.GroupResource().String()}).number()
		}
		if err := c.run(ctx, &v); err != nil {
			return describe(kind, fmt.Errorf("verify: %w", err))
		}
	}
	v.print(m.options.Out)
	if !v.OK() {
		return fmt.Errorf("%d reports are not as they should be; the command can be run again", len(v.Listed))
	}
	return nil
}
