// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/leftover"
)

// Statements of commits. All reach at most one row, by the index that is named.
const (
	// Primary key of revision.
	selectCounters = "SELECT revision, compacted, incarnation, history_bytes FROM revision WHERE cluster = ?"
	updateCounters = "UPDATE revision SET revision = ?2, history_bytes = ?3, tallied = iif(?4, ?2, 0) WHERE cluster = ?1"
	// Primary key of total.
	addTotal = `INSERT INTO total (cluster, resource, objects, bytes, results, complete, building, highest, mark)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8) ON CONFLICT (cluster, resource) DO UPDATE SET
objects = objects + excluded.objects, bytes = bytes + excluded.bytes, results = results + excluded.results,
mark = iif(excluded.complete < building, excluded.mark, mark),
complete = min(complete, excluded.complete), highest = max(highest, excluded.highest)`
	// Unique name of resource.
	selectResource = "SELECT id FROM resource WHERE name = ?"
	insertResource = "INSERT INTO resource (name) VALUES (?)"
	// Primary key of object.
	insertObject = `INSERT INTO object (cluster, resource, key, revision, created, expires_at, size, codec, data, derived, terms)
VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (cluster, resource, key) DO NOTHING`
	selectObject = `SELECT rowid, terms, key, revision, created, expires_at, size, codec, data FROM object
WHERE cluster = ? AND resource = ? AND key = ?`
	selectGuard = "SELECT coalesce((SELECT revision FROM object WHERE cluster = ? AND resource = ? AND key = ?), 0)"
	// Row id.
	updateObject = `UPDATE object SET revision = ?2, expires_at = ?3, size = ?4, codec = ?5, data = ?6,
derived = iif(?8, min(derived, ?7), ?7), terms = iif(?8, terms, ?9) WHERE rowid = ?1`
	deleteObject = "DELETE FROM object WHERE rowid = ?"
	// Primary key and event_key.
	insertEvent = `INSERT INTO event (cluster, revision, resource, key, kind, created, previous_revision,
previous_codec, previous_size, previous_data, committed_at, total_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// writer is the connection that writes, with what only its holder may touch.
type writer struct {
	conn   *conn
	ledger *ledger
	// known holds the ids of verdicts and subjects that are certainly stored.
	known known
	// tallied says that the counters of results are kept.
	tallied bool
	// dropped is what Tidy looks at first.
	dropped leftover.Set
	// tidy is where Tidy goes on.
	tidy tidyCursor
	// changes counts rows that were changed, roughly; truncated is that count when the log was last emptied.
	changes, truncated int64
	// lowest is the lowest number that rows of a large report were given, 0 when it isn't known.
	lowest int64
	// uncopied is about what the log grew since the checkpointer was woken.
	uncopied int64
	// lag is what the index of verdicts lacks.
	lag lag
}

func (w *writer) close() error {
	err := w.conn.close()
	if w.ledger != nil && err == nil {
		err = w.ledger.close()
	}
	return err
}

// transaction runs f with the write lock of the file. When f or the commit fails everything is undone.
func (w *writer) transaction(f func() error) error {
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return classify("begin", err)
	}
	err := f()
	if err == nil {
		if _, err = w.conn.exec("COMMIT"); err == nil {
			return nil
		}
		err = classifyCommit(err)
	}
	w.known.clear()
	// SQLite has rolled back already after some errors and says so; it doesn't matter which.
	_, _ = w.conn.exec("ROLLBACK")
	return err
}

// write hands the writer to f when it is this call's turn.
func (e *Engine) write(ctx context.Context, f func(w *writer) error) error {
	if err := errors.Join(e.usable(ctx), e.demands.Writable()); err != nil {
		return err
	}
	w, err := take(ctx, e, e.writer)
	if err != nil {
		return err
	}
	defer func() { e.writer <- w }()
	return f(w)
}

// usable returns an error if a call must not continue.
func (s *connections) usable(ctx context.Context) error {
	select {
	case <-s.closing:
		return engine.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

// counters are the row of table revision.
type counters struct {
	state        engine.State
	historyBytes int64
}

func readCounters(c *conn, cluster int64) (out counters, err error) {
	found, err := c.one(into(&out.state.Revision, &out.state.Compacted, &out.state.Incarnation, &out.historyBytes),
		selectCounters, cluster)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no row for cluster %d in table revision", engine.ErrCorrupt, cluster)
	}
	return out, err
}

// Commit implements engine.Engine.
func (e *Engine) Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error) {
	if err := engine.CheckOps(ops); err != nil {
		return engine.Batch{}, fmt.Errorf("commit: %w", err)
	}
	var batch engine.Batch
	err := e.write(ctx, func(w *writer) error {
		c := change{engine: e, writer: w, conn: w.conn, now: e.now().UnixMilli(), totals: map[int64]*total{}}
		if err := w.transaction(func() error { return c.run(ops) }); err != nil {
			return err
		}
		w.ledger.note(int64(c.state.Revision))
		for name, id := range c.resources {
			e.resources.Store(name, id)
		}
		e.wrote(w, int64(c.state.Revision-c.before), valueBytes(ops))
		batch = engine.Batch{Outcomes: c.outcomes, State: c.state, Time: time.UnixMilli(c.now)}
		return nil
	})
	return batch, classify("commit", err)
}

// valueBytes is the size of the values of ops.
func valueBytes(ops []engine.Op) (sum int64) {
	for i := range ops {
		sum += int64(len(ops[i].Value.Data))
	}
	return sum
}

// change is a commit under way.
type change struct {
	engine *Engine
	writer *writer
	conn   *conn
	counters
	// before is the revision that the commit started from.
	before   engine.Revision
	now      int64
	outcomes []engine.Outcome
	totals   map[int64]*total
	// tally gathers what is added to the counters of results.
	tally map[counted]int64
	// resources that got an id in this commit.
	resources map[engine.Resource]int64
}

// total is what a commit adds to a row of table total, and the lowest and the highest version that it derived rows by.
type total struct {
	objects, bytes, results int64
	lowest, highest         int64
}

// derived notes that rows were derived by a version.
func (t *total) derived(version engine.Derivation) {
	t.lowest, t.highest = min(t.lowest, int64(version)), max(t.highest, int64(version))
}

func (c *change) run(ops []engine.Op) (err error) {
	if c.counters, err = readCounters(c.conn, c.engine.cluster); err != nil {
		return err
	}
	c.before = c.state.Revision
	c.outcomes = make([]engine.Outcome, 0, len(ops))
	for i := range ops {
		outcome, err := c.apply(&ops[i])
		if err != nil {
			return classify(fmt.Sprintf("%s %s%s", ops[i].Kind, ops[i].Resource, ops[i].Key), err)
		}
		c.outcomes = append(c.outcomes, outcome)
	}
	if c.state.Revision == c.before {
		return nil
	}
	if err := c.flushTotals(); err != nil {
		return err
	}
	if _, err := c.conn.exec(updateCounters, c.engine.cluster, int64(c.state.Revision), c.historyBytes, number(c.writer.tallied)); err != nil {
		return err
	}
	return c.writer.ledger.reserve(int64(c.state.Revision))
}

// flushTotals adds what the commit changed to the sums and counters.
func (c *change) flushTotals() error {
	for resource, t := range c.totals {
		if _, err := c.conn.exec(addTotal, c.engine.cluster, resource, t.objects, t.bytes, t.results,
			t.lowest, t.highest, int64(c.state.Revision)); err != nil {
			return err
		}
	}
	return c.flushTally()
}

func (c *change) total(resource int64) *total {
	if c.totals[resource] == nil {
		c.totals[resource] = &total{lowest: math.MaxInt16}
	}
	return c.totals[resource]
}

// stored is a row of table object.
type stored struct {
	id    int64
	terms []byte
	engine.Row
}

// selectRow reads the current row of a key, nil when there is none.
func selectRow(c *conn, cluster, resource int64, key string) (out *stored, err error) {
	_, err = c.one(func(row []driver.Value) {
		out = &stored{}
		scan(row, append([]any{&out.id, &out.terms}, fields(&out.Row)...)...)
	}, selectObject, cluster, resource, key)
	return out, err
}

// fields returns where scan is to put the columns key, revision, created, expires_at, size, codec, data.
func fields(r *engine.Row) []any {
	return []any{&r.Key, &r.Revision, &r.Created, &r.ExpiresAt, &r.Size, &r.Codec, &r.Data}
}

// values returns where scan is to put the columns size, codec, data.
func values(v *engine.Value) []any { return []any{&v.Size, &v.Codec, &v.Data} }

// apply does one op when its conditions hold.
func (c *change) apply(op *engine.Op) (engine.Outcome, error) {
	if failed, err := c.guarded(op.Guard); err != nil || failed {
		return engine.Outcome{Guarded: failed}, err
	}
	resource, err := c.resource(op.Resource)
	if err != nil {
		return engine.Outcome{}, err
	}
	if op.Kind == engine.Create {
		done, err := c.create(resource, op)
		if err != nil || done {
			return engine.Outcome{Revision: c.state.Revision, Created: c.state.Revision}, err
		}
	}
	current, err := selectRow(c.conn, c.engine.cluster, resource, op.Key)
	if err != nil || current == nil {
		return engine.Outcome{}, err
	}
	if op.Kind == engine.Create || current.Revision != op.Expect {
		return engine.Outcome{Current: &current.Row}, nil
	}
	if err := c.replace(resource, op, current); err != nil {
		return engine.Outcome{}, err
	}
	return engine.Outcome{Revision: c.state.Revision, Created: current.Created}, nil
}

// guarded reports whether a guard keeps its op from happening.
func (c *change) guarded(guard *engine.Guard) (bool, error) {
	if guard == nil {
		return false, nil
	}
	resource, err := c.resource(guard.Resource)
	if err != nil {
		return false, err
	}
	revision, err := c.conn.number(context.Background(), selectGuard, c.engine.cluster, resource, guard.Key)
	return revision != int64(guard.Revision), err
}

// create writes a new row unless there is one at the key.
func (c *change) create(resource int64, op *engine.Op) (bool, error) {
	revision := c.state.Revision + 1
	terms := packTerms(op.Index)
	n, err := c.conn.exec(insertObject, c.engine.cluster, resource, op.Key, int64(revision),
		op.ExpiresAt, int64(op.Value.Size), int64(op.Value.Codec), notNil(op.Value.Data), int64(op.Derivation), terms)
	if err != nil || n == 0 {
		return false, err
	}
	c.state.Revision = revision
	if err := c.event(resource, op, revision, nil); err != nil {
		return false, err
	}
	t := c.total(resource)
	t.objects++
	t.bytes += int64(op.Value.Size)
	t.derived(op.Derivation)
	return true, c.derive(derivation{
		resource: resource, created: int64(revision), key: op.Key, terms: terms, projection: op.Projection, prepared: op.Prepared, fresh: true,
	})
}

// replace updates or deletes a row.
func (c *change) replace(resource int64, op *engine.Op, current *stored) error {
	c.state.Revision++
	if err := c.event(resource, op, current.Created, current); err != nil {
		return err
	}
	t := c.total(resource)
	t.bytes -= int64(current.Size)
	rows := derivation{resource: resource, created: int64(current.Created), key: op.Key, oldTerms: current.terms}
	if op.Kind == engine.Delete {
		t.objects--
		if _, err := c.conn.exec(deleteObject, current.id); err != nil {
			return err
		}
		return c.derive(rows)
	}
	t.bytes += int64(op.Value.Size)
	t.derived(op.Derivation)
	rows.terms, rows.projection, rows.prepared = packTerms(op.Index), op.Projection, op.Prepared
	_, err := c.conn.exec(updateObject, current.id, int64(c.state.Revision), op.ExpiresAt, int64(op.Value.Size), int64(op.Value.Codec),
		notNil(op.Value.Data), int64(op.Derivation), number(op.KeepDerived), rows.terms)
	if err != nil || op.KeepDerived {
		return err
	}
	return c.derive(rows)
}

// event writes the event of the present revision. previous is nil for Create.
func (c *change) event(resource int64, op *engine.Op, created engine.Revision, previous *stored) error {
	var old stored
	var data any
	if previous != nil {
		old = *previous
		data = notNil(old.Data)
	}
	c.historyBytes += engine.EventBytes(op.Key, old.Value)
	_, err := c.conn.exec(insertEvent, c.engine.cluster, int64(c.state.Revision), resource, op.Key, int64(op.Kind),
		int64(created), int64(old.Revision), int64(old.Codec), int64(old.Size), data, c.now, c.historyBytes)
	return err
}

// resource returns the id of a resource and gives it one when it has none.
func (c *change) resource(name engine.Resource) (int64, error) {
	if id, ok := c.engine.resources.Load(name); ok {
		return id.(int64), nil
	}
	id, err := c.conn.number(context.Background(), selectResource, string(name))
	if err == nil && id == 0 {
		if _, err = c.conn.exec(insertResource, string(name)); err == nil {
			id, err = c.conn.number(context.Background(), selectResource, string(name))
		}
	}
	if err != nil {
		return 0, err
	}
	if c.resources == nil {
		c.resources = map[engine.Resource]int64{}
	}
	c.resources[name] = id
	return id, nil
}

// number returns a truth value as SQLite has it.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// notNil keeps an empty value from being stored as null.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
