// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

// minimumVersion is the oldest server that the statements were written for, as
// server_version_num has it.
const minimumVersion = 150000

// Settings of sessions. Why not startup parameters: poolers refuse those that
// they don't know.
const (
	// Index scans and nested loops are right for all statements here, and do not
	// depend on statistics, which are missing after a bulk load. Generic plans
	// save planning, which would cost more than execution.
	planSettings = `SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET default_transaction_isolation = 'read committed'; SET idle_in_transaction_session_timeout = '5s';
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;`

	readerSettings = planSettings + `SET default_transaction_read_only = on; SET statement_timeout = '60s';`

	// A writer that hangs holds the counter, and with it all other writers. That is
	// also why the server looks early whether its client still lives: the timeouts
	// don't run while it waits for the rest of a commit.
	writerSettings = planSettings + `SET lock_timeout = '5s'; SET statement_timeout = '10s';`
)

// prepareReader makes a new connection of the reads pool fit for use.
func (e *Engine) prepareReader(ctx context.Context, conn *pgx.Conn) error {
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	if err := e.verify(ctx, conn); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, readerSettings, pgx.QueryExecModeSimpleProtocol)
	return err
}

// prepareWriter makes a new connection of the writes pool fit for use.
func (e *Engine) prepareWriter(ctx context.Context, conn *pgx.Conn) error {
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	if err := e.verify(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, writerSettings, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	level := e.options.SynchronousCommit
	if level == "" {
		level = "on"
	}
	if _, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', $1, false)`, level); err != nil {
		return err
	}
	// Prepared by name, so that a commit is one round trip from the first one on.
	for name, sql := range map[string]string{lockCounter: lockCounterSQL, applyOps: applyOpsSQL, deriveRows: deriveRowsSQL} {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			return fmt.Errorf("prepare statement %s: %w", name, err)
		}
	}
	e.pids.Store(conn.PgConn().PID(), struct{}{})
	return nil
}

const serverSQL = `SELECT pg_is_in_recovery(), current_setting('server_version_num')::int4,
	current_setting('server_version'), current_setting('server_encoding')`

// checkServer refuses servers and databases that can't keep what is written.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var standby bool
	var number int
	var version, encoding string
	if err := conn.QueryRow(ctx, serverSQL).Scan(&standby, &number, &version, &encoding); err != nil {
		return err
	}
	switch {
	case number < minimumVersion:
		return fmt.Errorf("PostgreSQL %s is too old: use version %d or newer", version, minimumVersion/10000)
	case encoding != "UTF8":
		return fmt.Errorf("encoding of the database is %s: create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
	case standby:
		return fmt.Errorf("%w: the server is a standby; name the primary, or all hosts and target_session_attrs=read-write",
			engine.ErrReadOnly)
	}
	return nil
}

// identity tells one history of a database from another. A physical restore and
// a failover change the timeline, a restored dump or a copied database the
// relation, an upgrade the system identifier. What the role may not read is zero.
type identity struct {
	system   int64
	relation int64 // oids of the database and of the table
	timeline int32
}

const mayIdentifySQL = `SELECT
	has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'),
	has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE')
		AND has_function_privilege('pg_catalog.pg_current_wal_lsn()', 'EXECUTE'),
	(SELECT oid::int8 << 32 FROM pg_database WHERE datname = current_database()) + 'docket.revision'::regclass::oid::int8`

// identify asks the server who it is. Why pg_walfile_name: pg_control_checkpoint
// knows a new timeline only after the first checkpoint on it.
func identify(ctx context.Context, conn *pgx.Conn) (identity, error) {
	var id identity
	var system, timeline bool
	err := conn.QueryRow(ctx, mayIdentifySQL).Scan(&system, &timeline, &id.relation)
	if err == nil && system {
		err = conn.QueryRow(ctx, `SELECT system_identifier FROM pg_control_system()`).Scan(&id.system)
	}
	if err == nil && timeline {
		err = conn.QueryRow(ctx,
			`SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4`).Scan(&id.timeline)
	}
	return id, err
}

// repairSQL moves a cluster to a new incarnation. Numbers that were given out in
// the history that is lost must not be given out again. They lie below what this
// process saw, or else below what could have been committed at 10,000 a second
// since the last change that the database knows of (parts of a second count: the
// same dump may be restored twice in one), whatever was restored how
// often; a million more allows for clocks that differ. The condition is checked
// again under the row's lock, so that of several processes one does it.
const repairSQL = `UPDATE docket.revision SET
	revision = greatest(revision, @seen) + 1000000 + ceil(@rate::int8 * extract(epoch FROM greatest(statement_timestamp() - committed_at, '0')))::int8,
	compacted = greatest(revision, @seen) + 1000000 + ceil(@rate::int8 * extract(epoch FROM greatest(statement_timestamp() - committed_at, '0')))::int8,
	incarnation = greatest(incarnation + 1, @incarnation::int8 + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8),
	committed_at = greatest(clock_timestamp(), committed_at),
	tidied = tidied + 1, system_identifier = @system, timeline = @timeline, relation = @relation
WHERE cluster = @cluster AND (revision < @seen OR incarnation < @incarnation OR ` + otherHistory + `)
RETURNING revision, incarnation`

// otherHistory is true of a row that was written to in another history.
const otherHistory = `(relation <> 0 AND relation <> @relation
	OR system_identifier <> 0 AND @system::int8 <> 0 AND system_identifier <> @system
	OR timeline <> 0 AND @timeline::int4 <> 0 AND timeline <> @timeline)`

// adoptSQL notes the identity in a row that has none yet, or only a part of it.
const adoptSQL = `UPDATE docket.revision
SET system_identifier = @system, timeline = @timeline, relation = @relation WHERE cluster = @cluster`

// repairRate is how many revisions a second a lost history may have used up: more
// than any server was measured to commit.
const repairRate = 10_000

// verify makes sure that the database is the one that this process knew, and
// not a restored or lagging copy of it. Otherwise it starts a new incarnation.
func (e *Engine) verify(ctx context.Context, conn *pgx.Conn) error {
	id, err := identify(ctx, conn)
	if err != nil {
		return fmt.Errorf("identify the server: %w", err)
	}
	seen := e.seen.Load()
	args := pgx.NamedArgs{
		"cluster": e.cluster, "seen": seen, "incarnation": e.incarnation.Load(), "rate": int64(repairRate),
		"system": id.system, "timeline": id.timeline, "relation": id.relation,
	}
	var revision, incarnation int64
	var other, known bool
	err = conn.QueryRow(ctx, `SELECT revision, incarnation, `+otherHistory+`,
		system_identifier = @system AND timeline = @timeline AND relation = @relation
		FROM docket.revision WHERE cluster = @cluster`, args).Scan(&revision, &incarnation, &other, &known)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: cluster %s is gone from the database; start again to make it anew",
			engine.ErrUnavailable, e.options.Cluster)
	}
	if err != nil {
		return fmt.Errorf("read the revision: %w", err)
	}
	switch {
	case other || e.wentBack(revision, seen, engine.Incarnation(incarnation)):
		return e.repair(ctx, conn, args)
	case !known:
		if _, err := conn.Exec(ctx, adoptSQL, args); err != nil {
			return fmt.Errorf("note the server's identity: %w", err)
		}
	}
	e.sameIncarnation(engine.Incarnation(incarnation))
	e.note(engine.Revision(revision))
	return nil
}

func (e *Engine) repair(ctx context.Context, conn *pgx.Conn, args pgx.NamedArgs) error {
	var revision, incarnation int64
	err := conn.QueryRow(ctx, repairSQL, args).Scan(&revision, &incarnation)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // Another process was faster. The next call sees its incarnation.
	}
	if err != nil {
		return fmt.Errorf("start a new incarnation after a failover or restore: %w", err)
	}
	e.sameIncarnation(engine.Incarnation(incarnation))
	e.note(engine.Revision(revision))
	e.log.Warn("database was restored or failed over; revisions start anew far ahead",
		"cluster", e.options.Cluster, "seen", args["seen"], "revision", revision)
	e.signal()
	return nil
}

// sameIncarnation says whether the caches were filled under an incarnation. When
// it is a newer one it empties them: what they hold may have been lost with the
// history.
func (e *Engine) sameIncarnation(incarnation engine.Incarnation) bool {
	known := e.incarnation.Load()
	for int64(incarnation) > known {
		// Before too: who sees the new number must not find what is old.
		e.resources.clear()
		e.facts.clear()
		if e.incarnation.CompareAndSwap(known, int64(incarnation)) {
			e.resources.clear()
			e.facts.clear()
			return false
		}
		known = e.incarnation.Load()
	}
	return int64(incarnation) == known
}

// wentBack says whether a state lies before what this process knew already.
func (e *Engine) wentBack(revision, seen int64, incarnation engine.Incarnation) bool {
	return revision < seen || int64(incarnation) < e.incarnation.Load()
}

// note records that a revision is known to be committed.
func (e *Engine) note(revision engine.Revision) {
	for {
		seen := e.seen.Load()
		if int64(revision) <= seen || e.seen.CompareAndSwap(seen, int64(revision)) {
			return
		}
	}
}

// signal wakes the reader of Wake.
func (e *Engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
