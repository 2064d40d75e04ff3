// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// largeReport is the number of results from which on Prepare writes their facts ahead.
	largeReport = 1000
	// factSlice is how many facts are written while the counter is held; others wait that long.
	factSlice = 1000
)

// fact is a verdict or a subject.
type fact struct {
	verdict *engine.Verdict
	subject *engine.Subject
}

// Prepare implements engine.Engine. It writes the verdicts and subjects of a large report, which take longest, in
// slices between which others commit. Nobody sees facts that no result has, and Tidy removes them.
func (e *Engine) Prepare(ctx context.Context, op *engine.Op) (release func(), err error) {
	release = func() {}
	if op.Kind == engine.Delete || op.KeepDerived || op.Projection == nil || len(op.Projection.Results) < largeReport {
		return release, nil
	}
	facts := factsOf(op.Projection)
	if len(facts) < largeReport {
		return release, nil
	}
	for slice := range slices.Chunk(facts, factSlice) {
		err := e.write(ctx, "write facts", func(ctx context.Context, conn session) error {
			return e.writeFacts(ctx, conn, slice)
		})
		if err != nil {
			return release, err
		}
	}
	return release, nil
}

// factsOf returns what results refer to. Equal ones are the same pointer.
func factsOf(p *engine.Projection) []fact {
	var facts []fact
	seen := map[fact]struct{}{{}: {}}
	for i := range p.Results {
		for _, f := range []fact{{verdict: p.Results[i].Verdict}, {subject: p.Results[i].Subject}} {
			if _, ok := seen[f]; !ok {
				seen[f] = struct{}{}
				facts = append(facts, f)
			}
		}
	}
	return facts
}

// writeFacts writes facts, as far as they aren't known to be there.
func (e *Engine) writeFacts(ctx context.Context, conn session, facts []fact) error {
	rows := newDerivedRows(e, 0)
	for _, f := range facts {
		if f.verdict != nil {
			rows.verdict(f.verdict)
		} else {
			rows.subject(f.subject)
		}
	}
	if len(rows.newFacts) == 0 {
		return nil
	}
	tidied, err := e.deriveWith(ctx, conn, rows)
	if err == nil {
		e.facts.add(tidied, rows.newFacts)
	}
	return err
}
