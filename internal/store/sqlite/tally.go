// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// Results are counted by namespace and by what their verdicts have in common: docs/adr/0030-counters.md. A commit
// gathers what it changes, and adds it at its end. Counters that are not as of the revision were left behind by a
// program that doesn't know them; they are rebuilt when the database is opened.

// maxGathered bounds the counters that are gathered before they are written, where everything is counted.
const maxGathered = 1 << 16

// Statements of counters, by primary keys unless said otherwise.
const (
	isTallied   = "SELECT tallied = revision FROM revision WHERE cluster = ?"
	markTallied = "UPDATE revision SET tallied = revision WHERE cluster = ?"

	addTally = `INSERT INTO tally (cluster, namespace, kind, outcome, results) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (cluster, namespace, kind, outcome) DO UPDATE SET results = results + excluded.results`
	selectVerdict = "SELECT source, policy, rule, category, severity, result, scored FROM verdict WHERE cluster = ? AND id = ?"
	insertOutcome = `INSERT INTO outcome (cluster, id, source, policy, rule, category, severity, result, scored)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (cluster, id) DO NOTHING`

	selectPlace   = "SELECT namespace, kind FROM report WHERE cluster = ? AND object = ?"
	countVerdicts = "SELECT verdict, count(*) FROM result WHERE cluster = ? AND object = ? GROUP BY verdict"

	// What a cluster has in these tables.
	deleteTally = "DELETE FROM tally WHERE cluster = ?"
	selectAll   = `SELECT r.namespace, r.kind, x.verdict FROM report AS r
CROSS JOIN result AS x ON x.cluster = r.cluster AND x.object = r.object WHERE r.cluster = ?`
	deleteOutcomes = `DELETE FROM outcome WHERE cluster = ?1
AND id NOT IN (SELECT outcome FROM tally WHERE cluster = ?1)`
	// tally_empty.
	deleteEmpty = "DELETE FROM tally INDEXED BY tally_empty WHERE cluster = ? AND results = 0"
)

// where is what reports have in common that are counted together.
type where struct{ namespace, kind string }

// counted is a group of results with the same report fields and verdict.
type counted struct {
	where
	verdict int64
}

// whereOf returns where a projection belongs.
func whereOf(p *engine.Projection) where {
	if p == nil {
		return where{}
	}
	return where{p.Namespace, p.Kind}
}

// whereWas returns where the report that is stored under a number belongs.
func (c *change) whereWas(object int64) (at where, err error) {
	_, err = c.conn.one(into(&at.namespace, &at.kind), selectPlace, c.engine.cluster, object)
	return at, err
}

// count gathers that there are n results more; below 0 for fewer.
func (c *change) count(at where, verdict, n int64) {
	if c.tally == nil {
		c.tally = map[counted]int64{}
	}
	c.tally[counted{at, verdict}] += n
}

// countAll gathers the results of a projection.
func (c *change) countAll(p *engine.Projection) {
	at, ids := whereOf(p), map[*engine.Verdict]int64{} // Equal ones are the same pointer.
	for i := range p.Results {
		v := p.Results[i].Verdict
		if _, ok := ids[v]; !ok {
			ids[v] = v.ID()
		}
		c.count(at, ids[v], 1)
	}
}

// discount gathers that the results that are stored under a number go.
func (c *change) discount(object int64) error {
	at, err := c.whereWas(object)
	if err != nil {
		return err
	}
	return c.conn.query(context.Background(), func(row []driver.Value) error {
		var verdict, results int64
		scan(row, &verdict, &results)
		c.count(at, verdict, -results)
		return nil
	}, countVerdicts, c.engine.cluster, object)
}

// flushTally adds what was gathered to the counters, in the order of their key.
func (c *change) flushTally() error {
	if !c.writer.tallied {
		return nil
	}
	sums := map[counted]int64{} // By outcome.
	for of, n := range c.tally {
		if n == 0 {
			continue
		}
		outcome, found, err := c.outcome(of.verdict)
		if err != nil {
			return err
		}
		if found {
			sums[counted{of.where, outcome}] += n
		}
	}
	clear(c.tally)
	for _, of := range slices.SortedFunc(maps.Keys(sums), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.verdict, b.verdict))
	}) {
		if sums[of] == 0 {
			continue
		}
		if _, err := c.conn.exec(addTally, c.engine.cluster, of.namespace, of.kind, of.verdict, sums[of]); err != nil {
			return err
		}
	}
	return nil
}

// outcome returns what a stored verdict is counted by, and stores that unless it is stored. The views show no result
// whose verdict is missing.
func (c *change) outcome(verdict int64) (id int64, found bool, err error) {
	if id, ok := c.writer.known.outcomes[verdict]; ok {
		return id, true, nil
	}
	var v engine.Verdict
	found, err = c.conn.one(into(&v.Source, &v.Policy, &v.Rule, &v.Category, &v.Severity, &v.Result, &v.Scored),
		selectVerdict, c.engine.cluster, verdict)
	if err != nil || !found {
		return 0, found, err
	}
	id, err = c.noteOutcome(verdict, &v)
	return id, err == nil, err
}

// noteOutcome stores what a verdict is counted by unless it is stored, and returns its id.
func (c *change) noteOutcome(verdict int64, v *engine.Verdict) (int64, error) {
	id, known := v.Outcome(), &c.writer.known
	if add(&known.stored, id) {
		_, err := c.conn.exec(insertOutcome, c.engine.cluster, id, v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, number(v.Scored))
		if err != nil {
			return 0, err
		}
	}
	if known.outcomes == nil || len(known.outcomes) >= maxKnown {
		known.outcomes = map[int64]int64{}
	}
	known.outcomes[verdict] = id
	return id, nil
}

// Tally implements engine.Engine: commits leave nothing to do.
func (e *Engine) Tally(ctx context.Context) error { return e.usable(ctx) }

// Analyze implements engine.Engine: migrations write the statistics, whatever the tables have.
func (e *Engine) Analyze(ctx context.Context) error { return e.usable(ctx) }

// makeTally makes the counters, unless those that are there are as of the revision.
func (e *Engine) makeTally(ctx context.Context, w *writer) error {
	kept, err := w.conn.number(ctx, isTallied, e.cluster)
	w.tallied = kept == 1
	if err != nil || w.tallied || e.demands.Writable() != nil {
		return err
	}
	klog.InfoS("Counting all results", "path", e.path)
	w.tallied = true
	err = classify("count results", w.transaction(func() error { return e.tallyAll(ctx, w) }))
	w.tallied = err == nil
	if errors.Is(err, engine.ErrFull) { // The view counts, which is slow and right.
		klog.ErrorS(err, "The results can't be counted", "path", e.path)
		return nil
	}
	return err
}

func (e *Engine) tallyAll(ctx context.Context, w *writer) error {
	if _, err := w.conn.exec(deleteTally, e.cluster); err != nil {
		return err
	}
	c := change{engine: e, writer: w, conn: w.conn}
	err := w.conn.query(ctx, func(row []driver.Value) error {
		var at where
		var verdict int64
		scan(row, &at.namespace, &at.kind, &verdict)
		c.count(at, verdict, 1)
		if len(c.tally) < maxGathered {
			return nil
		}
		return errors.Join(e.usable(ctx), c.flushTally())
	}, selectAll, e.cluster)
	if err == nil {
		err = c.flushTally()
	}
	if err == nil {
		_, err = w.conn.exec(markTallied, e.cluster)
	}
	return err
}

// tidyTally removes counters that are zero, and outcomes without counters.
func (e *Engine) tidyTally(w *writer) error {
	var removed int64
	err := w.transaction(func() (err error) {
		if removed, err = w.conn.exec(deleteEmpty, e.cluster); err != nil || removed == 0 {
			return err
		}
		w.known.outcomes, w.known.stored = nil, nil
		_, err = w.conn.exec(deleteOutcomes, e.cluster)
		return err
	})
	e.wrote(w, removed, 0)
	return err
}
