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

// minimumVersion is the oldest server that the statements were written for, as server_version_num has it.
const minimumVersion = 150000

// reader returns a function that prepares a new connection that only reads.
func (e *Engine) reader(s settings) func(context.Context, *pgx.Conn) error {
	statement := s.ownSession().statement() + `SET default_transaction_read_only = on`
	return func(ctx context.Context, conn *pgx.Conn) error {
		if err := e.check(ctx, conn); err != nil || e.pooled {
			return err
		}
		_, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
		return err
	}
}

// prepareWriter prepares a new connection for writes.
func (e *Engine) prepareWriter(ctx context.Context, conn *pgx.Conn) error {
	if err := e.check(ctx, conn); err != nil || e.pooled {
		return err
	}
	if _, err := conn.Exec(ctx, e.writerSettings().ownSession().statement(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	// Prepared, so that a commit is one round trip from the first one on.
	for _, sql := range []string{lockCounterSQL, applyOpsSQL.sql, deriveRowsSQL.sql} {
		if _, err := conn.Prepare(ctx, sql, sql); err != nil {
			return fmt.Errorf("prepare a statement of commits: %w", err)
		}
	}
	e.pids.Store(conn.PgConn().PID(), struct{}{})
	return nil
}

func (e *Engine) writerSettings() settings { return writerSettings(e.options.SynchronousCommit) }

// check refuses servers that can't be used, and verifies that the database is still the same one.
func (e *Engine) check(ctx context.Context, conn *pgx.Conn) error {
	if !e.pooled {
		if err := checkServer(ctx, conn); err != nil {
			return err
		}
		return e.verify(ctx, conn)
	}
	// Statements that aren't in one transaction may go to several servers.
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := checkServer(ctx, tx); err != nil {
			return err
		}
		if err := checkIsolation(ctx, tx); err != nil {
			return err
		}
		return e.verify(ctx, tx)
	})
}

// checkIsolation is for transactions whose isolation nobody sets.
func checkIsolation(ctx context.Context, conn session) error {
	var level string
	if err := conn.QueryRow(ctx, `SELECT current_setting('transaction_isolation')`).Scan(&level); err != nil {
		return err
	}
	if level != "read committed" {
		return fmt.Errorf("transactions are %s, and a pooler in between keeps Docket from changing that: "+
			"ALTER ROLE its role SET default_transaction_isolation = 'read committed'", level)
	}
	return nil
}

const serverSQL = `SELECT pg_is_in_recovery(), current_setting('server_version_num')::int4,
	current_setting('server_version'), current_setting('server_encoding')`

// checkServer refuses servers and databases that can't keep what is written.
func checkServer(ctx context.Context, conn session) error {
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
	// What the role may read.
	maySystem, mayTimeline bool
}

const mayIdentifySQL = `SELECT
	has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'),
	has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE')
		AND has_function_privilege('pg_catalog.pg_current_wal_lsn()', 'EXECUTE'),
	` + relationSQL

// Parts of an identity. Why pg_walfile_name: pg_control_checkpoint knows a new timeline only after the first
// checkpoint on it.
const (
	relationSQL = `(SELECT oid::int8 << 32 FROM pg_database WHERE datname = current_database()) + 'docket.revision'::regclass::oid::int8`
	systemSQL   = `SELECT system_identifier FROM pg_control_system()`
	timelineSQL = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4`
)

// identify asks the server who it is.
func identify(ctx context.Context, conn session) (identity, error) {
	var id identity
	err := conn.QueryRow(ctx, mayIdentifySQL).Scan(&id.maySystem, &id.mayTimeline, &id.relation)
	if err == nil && id.maySystem {
		err = conn.QueryRow(ctx, systemSQL).Scan(&id.system)
	}
	if err == nil && id.mayTimeline {
		err = conn.QueryRow(ctx, timelineSQL).Scan(&id.timeline)
	}
	return id, err
}

// repairSQL moves a cluster to a new incarnation. Numbers that were given out in the history that is lost must not be
// given out again. They are below what this process saw, or else below what could have been committed at 10,000 a
// second since the last change that the database knows of (parts of a second count: the same dump may be restored twice
// in one), whatever was restored how often; a million more allows for clocks that differ. The condition is checked
// again under the row's lock, so that of several processes one does it.
//
// Who saw only what the standby had that was promoted may go on: see forked. Before
// an older gap nobody may, so that there is one at most.
const repairSQL = `UPDATE docket.revision SET
	revision = ` + leapTo + `,
	compacted = CASE WHEN ` + forked + ` THEN greatest(compacted, gap_to) ELSE ` + leapTo + ` END,
	gap_after = CASE WHEN ` + forked + ` THEN revision ELSE 0 END,
	gap_to = CASE WHEN ` + forked + ` THEN ` + leapTo + ` ELSE 0 END,
	gap_before = CASE WHEN ` + forked + ` THEN incarnation ELSE 0 END,
	incarnation = greatest(incarnation + 1, @incarnation::int8 + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8),
	committed_at = ` + commitTime + `,
	tidied = tidied + 1, system_identifier = @system, timeline = @timeline, relation = @relation
WHERE cluster = @cluster AND (revision < @seen OR incarnation < @incarnation OR ` + otherHistory + `)
RETURNING revision, incarnation, gap_after`

// leapTo is the revision after a leap.
const leapTo = `greatest(revision, @seen) + 1000000
	+ ceil(@rate::int8 * extract(epoch FROM greatest(statement_timestamp() - committed_at, '0')))::int8`

// forked is true of a row on a newer timeline of the server that it was written on, if nobody wrote to it there, which
// no session does before it has seen to this. The log was copied to that timeline up to some point, and nothing of it
// changed or left out: of what was given out on the old one, the revisions up to the row's are here, the same as they
// were, and those above are lost.
const forked = `(incarnation >= @incarnation AND relation = @relation AND system_identifier = @system
	AND timeline > 0 AND @timeline::int4 > timeline)`

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
func (e *Engine) verify(ctx context.Context, conn session) error {
	id, err := identify(ctx, conn)
	if err != nil {
		return fmt.Errorf("identify the server: %w", err)
	}
	e.identity.Store(&id)
	seen := e.seen.Load()
	args := pgx.NamedArgs{
		"cluster": e.cluster, "seen": seen, "incarnation": e.incarnation.Load(), "rate": int64(repairRate),
		"system": id.system, "timeline": id.timeline, "relation": id.relation,
	}
	var revision, incarnation int64
	var other, known bool
	err = conn.QueryRow(ctx, `SELECT revision, incarnation, `+otherHistory+`,
		system_identifier = @system AND timeline = @timeline AND relation = @relation
		FROM `+namedCounter+` r`, args).Scan(&revision, &incarnation, &other, &known)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: cluster %s is gone from the database; restart to create it again",
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

func (e *Engine) repair(ctx context.Context, conn session, args pgx.NamedArgs) error {
	var revision, incarnation, kept int64
	err := conn.QueryRow(ctx, repairSQL, args).Scan(&revision, &incarnation, &kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // Another process was faster. The next call sees its incarnation.
	}
	if err != nil {
		return fmt.Errorf("start a new incarnation after a failover or restore: %w", err)
	}
	e.sameIncarnation(engine.Incarnation(incarnation))
	e.note(engine.Revision(revision))
	if kept > 0 {
		e.log.Warn("database was failed over; revisions go on far ahead, and watches that saw nothing newer than what it has go on as well",
			"cluster", e.options.Cluster, "seen", args["seen"], "has", kept, "revision", revision)
	} else {
		e.log.Warn("database was restored or failed over; revisions start anew far ahead",
			"cluster", e.options.Cluster, "seen", args["seen"], "revision", revision)
	}
	e.signal()
	return nil
}

var _ engine.Advancer = (*Engine)(nil)

// advanceSQL reaches one row by the primary key. The update waits for the commit under way.
const advanceSQL = `WITH advanced AS (
	UPDATE docket.revision SET revision = greatest($2::int8, revision + 1), compacted = greatest($2::int8, revision + 1),
		incarnation = greatest(incarnation + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8),
		committed_at = ` + commitTime + `, tidied = tidied + 1,
		gap_after = 0, gap_to = 0, gap_before = 0
	WHERE cluster = $1 RETURNING *
)
SELECT ` + stateColumns + `, pg_notify('docket_' || $1::int4, r.revision::text)::text FROM advanced r`

// Advance implements engine.Advancer. Compaction drops the events that are below the mark then.
func (e *Engine) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	var state engine.State
	err := e.write(ctx, "advance the revision", func(ctx context.Context, conn session) error {
		var notified string
		return noCounter(conn.QueryRow(ctx, advanceSQL, e.cluster, int64(to)).Scan(append(stateFields(&state), &notified)...))
	})
	if err != nil {
		return engine.State{}, err
	}
	e.sameIncarnation(state.Incarnation)
	e.note(state.Revision)
	e.signal() // The listener takes notifications of this process for no news.
	return state, nil
}
