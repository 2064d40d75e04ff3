// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

// Bounds of a commit.
const (
	// commitTimeout bounds a commit with its retries, waiting for the counter included.
	commitTimeout = 15 * time.Second
	// maxValueBytes is the largest value. A message to the server may have 1 GB.
	maxValueBytes = 256 << 20
	// maxKeyBytes is the longest key. An index entry must fit into a third of a page.
	maxKeyBytes = 2000
)

// lockCounterSQL makes all writers of a cluster wait for each other. It is a
// statement of its own, so that the next one sees what the writer before wrote.
const lockCounterSQL = `SELECT FROM docket.revision WHERE cluster + 0 = $1` + newestFirst + ` FOR NO KEY UPDATE`

// commitTime is the present time, or the last commit's if that is later: times increase with revisions, even if
// clocks differ a little. A clock that was far ahead once is not followed forever, or nothing would expire.
const commitTime = `greatest(clock_timestamp(), least(committed_at, clock_timestamp() + interval '1 minute'))`

// eventOverhead is engine.EventOverhead as SQL.
const eventOverhead = `300`

// applyOpsSQL is the whole commit: it decides which ops apply, numbers them and
// writes them. @op_… are the ops, as arrays, with a guard of revision -1 for none; @seen the highest revision and
// @incarnation the incarnation that this process knows; @tidied the number of removals that its cache of facts knows
// of, -1 when it left no fact out; @format the one that this program writes; the others those of deriveCTEs.
//
//   - counter is the row that lockCounterSQL locked. It is not valid when the
//     database went back in time, or facts were removed that the ops leave out
//     because they were there. Nothing applies then.
//   - input joins each op with the current row at its key (primary key; LIMIT
//     keeps the planner from reading all rows once).
//   - decided numbers those that apply.
//
// All parts see the snapshot from before the statement, in whatever order they
// run, so that op.old_data is the value that updated and deleted rows had.
var applyOpsSQL = numbered(`
WITH counter AS MATERIALIZED (
	SELECT r.*, r.revision >= @seen::int8 AND r.incarnation = @incarnation::int8 AND @tidied::int8 IN (-1, r.tidied)
		AND r.min_writer <= @format::int2 AS valid,
		` + commitTime + ` AS now
	FROM ` + namedCounter + ` r
), input AS MATERIALIZED (
	SELECT i.*, o.revision AS old_revision, o.created AS old_created, o.expires_at AS old_expires_at,
		o.size AS old_size, o.codec AS old_codec, o.data AS old_data,
		o.place, g.failed AS guarded,
		c.valid AND NOT g.failed AND CASE i.kind WHEN 1 THEN o.revision IS NULL ELSE o.revision = i.expect END IS TRUE AS applies
	FROM counter c
	CROSS JOIN unnest(@op_kinds::int2[], @resources::int2[], @op_keys::text[], @op_expects::int8[], @op_expires::int8[],
		@op_sizes::int4[], @op_codecs::int2[], @op_data::bytea[], @op_keeps::bool[], @op_reports::bool[], @op_results::int4[],
		@op_guard_resources::int2[], @op_guard_keys::text[], @op_guards::int8[], @op_derivations::int2[]) WITH ORDINALITY
		AS i(kind, resource, key, expect, expires_at, size, codec, data, keep, reports, results,
			guard_resource, guard_key, guard, derivation, ordinal)
	LEFT JOIN LATERAL (
		SELECT *, ctid AS place FROM docket.object WHERE cluster = @cluster AND resource = i.resource AND key = i.key LIMIT 1
	) o ON true
	CROSS JOIN LATERAL (SELECT i.guard >= 0 AND i.guard <> coalesce((
		SELECT revision FROM docket.object WHERE cluster = @cluster AND resource = i.guard_resource AND key = i.guard_key LIMIT 1
	), 0) AS failed) g
), numbered AS MATERIALIZED (
	SELECT i.*,
		CASE WHEN i.applies THEN count(*) FILTER (WHERE i.applies) OVER w END AS number,
		sum(CASE WHEN i.applies THEN octet_length(i.key) + coalesce(octet_length(i.old_data), 0) + ` + eventOverhead + ` END) OVER w AS bytes
	FROM input i WINDOW w AS (ORDER BY i.ordinal ROWS UNBOUNDED PRECEDING)
), decided AS MATERIALIZED (
	SELECT n.*, c.revision + n.number AS revision, coalesce(n.old_created, c.revision + n.number) AS created,
		c.history_bytes + coalesce(n.bytes, 0) AS total_bytes, c.now
	FROM numbered n CROSS JOIN counter c
), inserted AS (
	INSERT INTO docket.object (cluster, resource, key, revision, created, expires_at, size, codec, data, derived)
	SELECT @cluster, resource, key, revision, created, expires_at, size, codec, data, derivation FROM decided WHERE applies AND kind = 1
), updated AS (
	UPDATE docket.object o
	SET revision = d.revision, expires_at = d.expires_at, size = d.size, codec = d.codec, data = d.data,
		derived = CASE WHEN d.keep THEN least(o.derived, d.derivation) ELSE d.derivation END
	FROM decided d WHERE d.applies AND d.kind = 2 AND o.ctid = d.place
), deleted AS (
	DELETE FROM docket.object o USING decided d WHERE d.applies AND d.kind = 3 AND o.ctid = d.place
), logged AS (
	INSERT INTO docket.event (cluster, revision, resource, key, kind, created, previous_revision, previous_codec,
		previous_size, previous_data, committed_at, total_bytes)
	SELECT @cluster, revision, resource, key, kind, created, coalesce(old_revision, 0), coalesce(old_codec, 0),
		coalesce(old_size, 0), old_data, now, total_bytes
	FROM decided WHERE applies
), advanced AS (
	UPDATE docket.revision r SET revision = s.revision, generation = s.revision` + generationOf + `,
		history_bytes = s.total_bytes, committed_at = s.now
	FROM (SELECT max(revision) AS revision, max(total_bytes) AS total_bytes, max(now) AS now FROM decided WHERE applies) s
	WHERE r.ctid = (SELECT place FROM counter) AND s.revision IS NOT NULL
), stale AS MATERIALIZED (
	SELECT resource, created AS object, reports FROM decided WHERE applies AND (kind = 3 OR kind = 2 AND NOT keep)
), fresh AS MATERIALIZED (
	SELECT array_agg(CASE WHEN applies AND kind <> 3 AND NOT keep THEN created ELSE 0 END ORDER BY ordinal) AS objects,
		array_agg(key ORDER BY ordinal) AS keys FROM decided
), changes AS (
	SELECT resource, CASE kind WHEN 1 THEN 1 WHEN 3 THEN -1 ELSE 0 END AS objects,
		size - coalesce(old_size, 0)::int8 AS bytes, results, CASE WHEN kind <> 3 THEN derivation END AS derivation, revision
	FROM decided WHERE applies
), ` + deriveCTEs + `
SELECT coalesce(d.revision, 0), CASE WHEN d.applies THEN d.created ELSE 0 END,
	coalesce(d.old_revision, 0), coalesce(d.old_created, 0), coalesce(d.old_expires_at, 0), coalesce(d.old_size, 0),
	coalesce(d.old_codec, 0), CASE WHEN NOT d.applies THEN d.old_data END,
	c.revision, c.compacted, c.incarnation, c.gap_after, c.gap_to, c.gap_before, c.tidied, c.now, c.valid, d.guarded,
	CASE WHEN d.ordinal = 1 THEN r.verdicts END, CASE WHEN d.ordinal = 1 THEN r.subjects END
FROM decided d CROSS JOIN counter c CROSS JOIN released r ORDER BY d.ordinal`)

// errStale says that nothing was applied, since the database doesn't contain what this process relied on.
var errStale = errors.New("the database was changed behind this process")

// errMoved says that nothing was done, since this may not be the same database as before.
var errMoved = errors.New("this may be another database")

// Commit implements engine.Engine.
func (e *Engine) Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error) {
	if len(ops) == 0 {
		state, err := e.State(ctx)
		return engine.Batch{State: state}, err
	}
	if err := checkOps(ops); err != nil {
		return engine.Batch{}, fmt.Errorf("commit: %w", err)
	}
	var batch engine.Batch
	err := e.write(ctx, "commit", func(ctx context.Context, conn session) error {
		var err error
		batch, err = e.commit(ctx, conn, ops)
		return err
	})
	return batch, err
}

// checkOps refuses what no engine commits, or this database can't store.
func checkOps(ops []engine.Op) error {
	if err := engine.CheckOps(ops); err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		switch {
		case len(op.Key) > maxKeyBytes:
			return fmt.Errorf("%w: key of %d bytes, the limit is %d", engine.ErrTooLarge, len(op.Key), maxKeyBytes)
		case !isText(op.Key) || !isText(string(op.Resource)):
			return fmt.Errorf("key %q of %q: must be UTF-8 without NUL", op.Key, op.Resource)
		case len(op.Value.Data) > maxValueBytes:
			return fmt.Errorf("%w: %s%s has %d bytes, the limit is %d",
				engine.ErrTooLarge, op.Resource, op.Key, len(op.Value.Data), maxValueBytes)
		}
	}
	return nil
}

// write runs work on a writing connection. It is run again where it surely had no effect: when there was no connection,
// or the server refused because it was going down, or errStale.
func (e *Engine) write(ctx context.Context, what string, work func(ctx context.Context, conn session) error) error {
	return e.writeAnyway(ctx, what, func(ctx context.Context, conn session) error {
		if err := e.writable(); err != nil {
			return err
		}
		return work(ctx, conn)
	})
}

// writeAnyway is write for changes that the cluster's demands on writers don't cover.
func (e *Engine) writeAnyway(ctx context.Context, what string, work func(ctx context.Context, conn session) error) error {
	callCtx, done, err := e.begin(ctx, commitTimeout)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer done()
	for attempt := 0; ; attempt++ {
		err := e.writeOnce(callCtx, work)
		if err == nil {
			return nil
		}
		lost := isBroken(err) && !errors.Is(err, engine.ErrUnknownOutcome)
		if attempt == len(retryPauses) || !lost && !errors.Is(err, errStale) {
			return e.fail(ctx, what, err)
		}
		if lost {
			e.writes.Reset()
			if pause(callCtx, retryPauses[attempt]) != nil {
				return e.fail(ctx, what, err)
			}
		}
	}
}

// underCounter runs statements in one round trip and transaction, in which nobody else writes to the cluster.
func (e *Engine) underCounter(ctx context.Context, conn session, queue func(pipeline *pgx.Batch)) error {
	var pipeline pgx.Batch
	pipeline.Queue(lockCounterSQL, e.cluster)
	queue(&pipeline)
	return conn.SendBatch(ctx, &pipeline).Close()
}

func (e *Engine) writeOnce(ctx context.Context, work func(ctx context.Context, conn session) error) error {
	conn, err := e.writes.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = work(ctx, e.session(conn.Conn(), e.writerSettings()))
	if isMoved(err) || errors.Is(err, errMoved) {
		return errors.Join(errStale, e.check(ctx, conn.Conn()))
	}
	return err
}

// commit makes one attempt.
func (e *Engine) commit(ctx context.Context, conn session, ops []engine.Op) (engine.Batch, error) {
	args, err := e.opArgs(ctx, conn, ops)
	if err != nil {
		return engine.Batch{}, err
	}
	var pipeline pgx.Batch
	pipeline.Queue(lockCounterSQL, e.cluster)
	if err := args.queue(&pipeline); err != nil {
		return engine.Batch{}, err
	}
	results := conn.SendBatch(ctx, &pipeline)
	batch, reply, err := readCommit(results, ops)
	closeErr := results.Close()
	switch {
	case err != nil:
		err = statementOutcome(err)
	case closeErr != nil:
		err = commitOutcome(closeErr)
	}
	if err != nil {
		if errors.Is(err, engine.ErrUnknownOutcome) {
			e.announce()
			e.signal() // The listener takes notifications of this process for no news.
		}
		return engine.Batch{}, err
	}
	if !reply.valid {
		e.sameIncarnation(batch.State.Incarnation)
		e.facts.clear() // The next attempt leaves nothing out.
		if e.wentBack(reply.before, args.seen, batch.State.Incarnation) {
			// The sessions survived, so that none of them has checked the database again.
			return engine.Batch{}, errMoved
		}
		return engine.Batch{}, errors.Join(errStale, e.askDemands(ctx, conn))
	}
	e.note(batch.State.Revision)
	if batch.State.Revision > engine.Revision(reply.before) {
		e.announce()
		e.facts.add(reply.tidied, args.newFacts)
		e.released.add(reply.released)
	}
	return batch, nil
}

// statementOutcome reports whether a commit may have happened although a statement
// ended with an error. If the server reported the error, it rolls back;
// otherwise the connection broke after everything had been sent. A pooler's message is not the server's.
func statementOutcome(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) && !isPoolers(server) || pgconn.SafeToRetry(err) || isClassified(err) {
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, err)
}

// commitOutcome is the same for an error after the last statement. The commit itself returns ordinary errors; a fatal
// one ends the session, before the commit or after.
func commitOutcome(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) && server.SeverityUnlocalized == "ERROR" {
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, err)
}

// commitReply is what applyOpsSQL says besides the outcomes.
type commitReply struct {
	before, tidied int64
	valid          bool
	released       released
}

func readCommit(results pgx.BatchResults, ops []engine.Op) (engine.Batch, commitReply, error) {
	var reply commitReply
	if _, err := results.Exec(); err != nil {
		return engine.Batch{}, reply, err
	}
	rows, err := results.Query()
	if err != nil {
		return engine.Batch{}, reply, err
	}
	defer rows.Close()
	batch := engine.Batch{Outcomes: make([]engine.Outcome, 0, len(ops))}
	for rows.Next() {
		var outcome engine.Outcome
		var row engine.Row
		var dropped released
		err := rows.Scan(&outcome.Revision, &outcome.Created,
			&row.Revision, &row.Created, &row.ExpiresAt, &row.Size, &row.Codec, &row.Data,
			&reply.before, &batch.State.Compacted, &batch.State.Incarnation,
			&batch.State.Gap.After, &batch.State.Gap.To, &batch.State.Gap.Before, &reply.tidied, &batch.Time, &reply.valid, &outcome.Guarded,
			&dropped.verdicts, &dropped.subjects)
		if err != nil {
			return engine.Batch{}, reply, err
		}
		if len(batch.Outcomes) == 0 {
			reply.released = dropped
		}
		if outcome.Revision == 0 && row.Revision != 0 && !outcome.Guarded {
			row.Key = ops[len(batch.Outcomes)].Key
			outcome.Current = &row
		}
		batch.State.Revision = max(batch.State.Revision, outcome.Revision, engine.Revision(reply.before))
		batch.Outcomes = append(batch.Outcomes, outcome)
	}
	if err := rows.Err(); err != nil {
		return engine.Batch{}, reply, err
	}
	if len(batch.Outcomes) != len(ops) {
		return engine.Batch{}, reply, fmt.Errorf("%w: counter row of the cluster is missing", engine.ErrCorrupt)
	}
	return batch, reply, nil
}

// opArgs are the parameters of applyOpsSQL.
type opArgs struct {
	derivedArgs
	kinds, codecs     []int16
	keys              []string
	expects, expires  []int64
	sizes, results    []int32
	datas             [][]byte
	keeps, hasReport  []bool
	guardResources    []int16
	guardKeys         []string
	guards            []int64
	derivations       []engine.Derivation
	seen, incarnation int64
}

func (e *Engine) opArgs(ctx context.Context, conn session, ops []engine.Op) (*opArgs, error) {
	n := len(ops)
	args := &opArgs{
		kinds: make([]int16, n), codecs: make([]int16, n), keys: make([]string, n), expects: make([]int64, n),
		expires: make([]int64, n), sizes: make([]int32, n), results: make([]int32, n), datas: make([][]byte, n),
		keeps: make([]bool, n), hasReport: make([]bool, n), seen: e.seen.Load(), incarnation: e.incarnation.Load(),
		guardResources: make([]int16, n), guardKeys: make([]string, n), guards: make([]int64, n), derivations: make([]engine.Derivation, n),
	}
	args.start(e, n)
	for i := range ops {
		op := &ops[i]
		resource, err := e.resources.intern(ctx, conn, op.Resource)
		if err != nil {
			return nil, err
		}
		args.resources[i] = resource
		args.kinds[i] = int16(op.Kind)
		args.derivations[i] = op.Derivation
		args.keys[i] = op.Key
		args.expects[i] = int64(op.Expect)
		if err := args.guard(ctx, e, conn, i, op.Guard); err != nil {
			return nil, err
		}
		if op.Kind == engine.Delete {
			continue
		}
		args.expires[i] = op.ExpiresAt
		args.sizes[i] = op.Value.Size
		args.codecs[i] = int16(op.Value.Codec)
		args.datas[i] = op.Value.Data
		if op.Value.Data == nil {
			args.datas[i] = []byte{} // nil is NULL.
		}
		if op.KeepDerived && op.Kind == engine.Update {
			args.keeps[i] = true
			continue
		}
		count, err := args.add(i, op.Index, op.Projection)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", op.Resource, op.Key, err)
		}
		args.results[i], args.hasReport[i] = count, op.Projection != nil
	}
	return args, nil
}

func (a *opArgs) queue(batch *pgx.Batch) error {
	args := applyOpsSQL.arguments()
	a.set(args)
	args.set("seen", a.seen)
	args.set("incarnation", a.incarnation)
	args.set("format", engine.WritesFormat)
	args.set("op_kinds", a.kinds)
	args.set("op_keys", a.keys)
	args.set("op_expects", a.expects)
	args.set("op_expires", a.expires)
	args.set("op_sizes", a.sizes)
	args.set("op_codecs", a.codecs)
	args.set("op_data", a.datas)
	args.set("op_keeps", a.keeps)
	args.set("op_reports", a.hasReport)
	args.set("op_results", a.results)
	args.set("op_derivations", a.derivations)
	args.set("op_guard_resources", a.guardResources)
	args.set("op_guard_keys", a.guardKeys)
	args.set("op_guards", a.guards)
	return args.queue(batch)
}

// guard sets the guard of an op.
func (a *opArgs) guard(ctx context.Context, e *Engine, conn session, i int, guard *engine.Guard) (err error) {
	a.guards[i] = -1
	if guard == nil {
		return nil
	}
	a.guardResources[i], err = e.resources.intern(ctx, conn, guard.Resource)
	a.guardKeys[i], a.guards[i] = guard.Key, int64(guard.Revision)
	return err
}

// int32Count checks a number of rows.
func int32Count(n int) (int32, error) {
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: %d rows", engine.ErrTooLarge, n)
	}
	return int32(n), nil
}
