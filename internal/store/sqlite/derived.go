// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements of reports and results: all go by a primary key.
var (
	upsertReport = "INSERT INTO report (cluster, object, resource, scope, " + engine.ColumnList(engine.ReportColumns, "") + `)
VALUES (?, ?, ?, ?, ` + placeholders(engine.ReportColumns) + `)
ON CONFLICT (cluster, object) DO UPDATE SET scope = excluded.scope,
(` + engine.ColumnList(engine.ReportColumns, "") + ") = (" + engine.ColumnList(engine.ReportColumns, "excluded.") + ")"

	insertVerdict = "INSERT INTO verdict (cluster, id, " + engine.ColumnList(engine.VerdictColumns, "") + `)
VALUES (?, ?, ` + placeholders(engine.VerdictColumns) + ") ON CONFLICT (cluster, id) DO NOTHING"
	insertSubject = "INSERT INTO subject (cluster, id, " + engine.ColumnList(engine.SubjectColumns, "") + `)
VALUES (?, ?, ` + placeholders(engine.SubjectColumns) + ") ON CONFLICT (cluster, id) DO NOTHING"
)

const (
	deleteReport = "DELETE FROM report WHERE cluster = ? AND object = ? RETURNING scope"

	insertResult = "INSERT INTO result (cluster, object, position, idx, verdict, subject, seconds, ordinal, late) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	upsertResult = `INSERT INTO result (cluster, object, position, idx, verdict, subject, seconds, ordinal, late) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (cluster, object, position) DO UPDATE SET (idx, verdict, subject, seconds, ordinal)
= (excluded.idx, excluded.verdict, excluded.subject, excluded.seconds, excluded.ordinal)`
	selectResults = "SELECT idx, verdict, subject, seconds, ordinal FROM result WHERE cluster = ? AND object = ? ORDER BY position"
	deleteResults = "DELETE FROM result WHERE cluster = ? AND object = ? AND position >= ? RETURNING verdict, subject"
)

// maxKnown bounds each set of known ids: about 3 MiB.
const maxKnown = 1 << 16

// known holds ids of verdicts and subjects that are in the database, so that they need not be stored each time. It
// holds because only this process writes, and because it is emptied when a transaction fails or rows are removed.
type known struct {
	verdicts, subjects map[int64]struct{}
	// outcomes are the ids of what verdicts are counted by, by the verdicts' ids; those in stored are in the database.
	outcomes map[int64]int64
	stored   map[int64]struct{}
}

func (k *known) clear() { *k = known{} }

// add reports whether an id is new to a set, and adds it.
func add(set *map[int64]struct{}, id int64) bool {
	if _, ok := (*set)[id]; ok {
		return false
	}
	if *set == nil || len(*set) >= maxKnown {
		*set = map[int64]struct{}{}
	}
	(*set)[id] = struct{}{}
	return true
}

// derivation describes the derived rows that an object is to have.
type derivation struct {
	resource, created int64
	key               string
	// terms is what the object's row has now, and oldTerms what it had.
	terms, oldTerms []byte
	projection      *engine.Projection
	// prepared is what Prepare left of the projection's results, nil for nothing.
	prepared any
	// object is the number that report and results are under.
	object int64
	// fresh says that the object has no derived rows yet.
	fresh bool
}

// derive writes the derived rows that differ from what is stored.
func (c *change) derive(d derivation) error {
	if err := c.deriveTerms(d); err != nil {
		return err
	}
	there, err := c.place(&d)
	if err != nil {
		return err
	}
	if !there {
		if err := c.deriveResults(d); err != nil {
			return err
		}
	}
	if d.projection != nil {
		return c.deriveReport(d)
	}
	if !d.fresh {
		err = c.writer.dropReport(c.engine.cluster, d.object)
	}
	return err
}

func (c *change) deriveReport(d derivation) error {
	scope, err := c.subject(d.projection.Scope)
	if err != nil {
		return err
	}
	args := append(make([]any, 0, maxColumns), c.engine.cluster, d.object, d.resource, scope)
	_, err = c.conn.exec(upsertReport, appendValues(args, engine.ReportColumns, d.projection)...)
	return err
}

// result is a row of table result.
type result struct {
	index, verdict int64
	// subject is an int64 or nil.
	subject          any
	seconds, ordinal int64
}

// scan reads a row of selectResults.
func (r *result) scan(row []driver.Value) {
	scan(row, &r.index, &r.verdict, &r.subject, &r.seconds, &r.ordinal)
}

// resultsOf makes rows of a projection and stores what they refer to.
func (c *change) resultsOf(p *engine.Projection) ([]result, error) {
	if p == nil {
		return nil, nil
	}
	rows := make([]result, 0, len(p.Results))
	for i := range p.Results {
		r := &p.Results[i]
		verdict, err := c.verdict(r.Verdict)
		if err != nil {
			return nil, err
		}
		subject, err := c.subject(r.Subject)
		if err != nil {
			return nil, err
		}
		rows = append(rows, result{index: int64(r.Index), verdict: verdict, subject: subject, seconds: r.Seconds, ordinal: int64(r.Ordinal)})
	}
	return rows, nil
}

func (c *change) deriveResults(d derivation) error {
	wanted, err := c.resultsOf(d.projection)
	if err != nil {
		return err
	}
	var old []result
	if !d.fresh {
		err := c.conn.query(context.Background(), func(row []driver.Value) error {
			old = append(old, result{})
			old[len(old)-1].scan(row)
			return nil
		}, selectResults, c.engine.cluster, d.object)
		if err != nil {
			return err
		}
	}
	at, was := whereOf(d.projection), where{}
	if len(old) > 0 {
		if was, err = c.whereWas(d.object); err != nil {
			return err
		}
	}
	for i, r := range wanted {
		c.count(at, r.verdict, 1)
		if i < len(old) {
			c.count(was, old[i].verdict, -1)
			if old[i] == r {
				continue
			}
			c.writer.dropped.Verdict(old[i].verdict)
			c.writer.dropSubject(old[i].subject)
		}
		if err := c.writeResult(d, int64(i), r); err != nil {
			return err
		}
	}
	if len(wanted) < len(old) {
		for _, r := range old[len(wanted):] {
			c.count(was, r.verdict, -1)
		}
		if _, err := c.writer.dropResults(c.engine.cluster, d.object, int64(len(wanted))); err != nil {
			return err
		}
	}
	c.total(d.resource).results += int64(len(wanted) - len(old))
	return nil
}

// writeResult writes a row of an object. Those of a new one are late.
func (c *change) writeResult(d derivation, position int64, r result) error {
	if !d.fresh || d.object <= c.writer.lag.indexed {
		_, err := c.conn.exec(upsertResult, c.engine.cluster, d.object, position, r.index, r.verdict, r.subject, r.seconds, r.ordinal)
		return err
	}
	c.writer.lag.rows++
	_, err := c.conn.exec(insertResult, c.engine.cluster, d.object, position, r.index, r.verdict, r.subject, r.seconds, r.ordinal, int64(1))
	return err
}

// verdict stores a verdict unless it is stored, and returns its id.
func (c *change) verdict(v *engine.Verdict) (int64, error) {
	id := v.ID()
	return id, c.writeVerdict(id, v)
}

// writeVerdict stores a verdict unless it is stored.
func (c *change) writeVerdict(id int64, v *engine.Verdict) error {
	if !add(&c.writer.known.verdicts, id) {
		return nil
	}
	args := append(make([]any, 0, maxColumns), c.engine.cluster, id)
	if _, err := c.conn.exec(insertVerdict, appendValues(args, engine.VerdictColumns, v)...); err != nil || !c.writer.tallied {
		return err
	}
	_, err := c.noteOutcome(id, v) // Counting it need not read it again.
	return err
}

// subject stores a subject unless it is stored, and returns its id or nil.
func (c *change) subject(s *engine.Subject) (any, error) {
	if s == nil {
		return nil, nil
	}
	id := s.ID()
	return id, c.writeSubject(id, s)
}

// writeSubject stores a subject unless it is stored.
func (c *change) writeSubject(id int64, s *engine.Subject) error {
	if !add(&c.writer.known.subjects, id) {
		return nil
	}
	args := append(make([]any, 0, maxColumns), c.engine.cluster, id)
	_, err := c.conn.exec(insertSubject, appendValues(args, engine.SubjectColumns, s)...)
	return err
}

// deriveSlice is how many objects Derive does in one transaction.
const deriveSlice = 64

// Derive implements engine.Engine.
func (e *Engine) Derive(ctx context.Context, items []engine.Derived) error {
	for slice := range slices.Chunk(items, deriveSlice) {
		err := e.write(ctx, func(w *writer) error {
			c := change{engine: e, writer: w, conn: w.conn, totals: map[int64]*total{}}
			if err := w.transaction(func() error { return c.deriveAll(slice) }); err != nil {
				return err
			}
			e.wrote(w, int64(len(slice)), 0)
			return nil
		})
		if err != nil {
			return classify("derive", err)
		}
	}
	return nil
}

func (c *change) deriveAll(items []engine.Derived) error {
	for _, item := range items {
		resource, err := c.conn.number(context.Background(), selectResource, string(item.Resource))
		if err != nil {
			return err
		}
		row, err := selectRow(c.conn, c.engine.cluster, resource, item.Key)
		if err != nil {
			return err
		}
		if row == nil || row.Revision != item.Revision {
			continue
		}
		terms := packTerms(item.Index)
		newer, err := c.noteDerived(row.id, item.Derivation, terms)
		if err != nil {
			return err
		}
		if newer {
			continue
		}
		err = c.derive(derivation{
			resource: resource, created: int64(row.Created), key: item.Key, terms: terms, oldTerms: row.terms,
			projection: item.Projection,
		})
		if err != nil {
			return err
		}
	}
	if err := c.flushTotals(); err != nil || !c.writer.tallied {
		return err
	}
	_, err := c.conn.exec(markTallied, c.engine.cluster)
	return err
}
