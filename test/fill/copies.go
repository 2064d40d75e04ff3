// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// step is a part of the work of PostgreSQL.
type step struct{ what, sql string }

// filledTables are those that have rows of each report. Their indexes are dropped and made again: to
// sort all entries once is quicker than to insert them one by one.
const filledTables = "('object', 'report', 'subject', 'term')"

// copySteps add docket.copies copies of each PolicyReport of the cluster docket.cluster, both of which are settings
// of the session, in one transaction. A copy differs in its key, UID, subject and the terms that no two reports share.
// It has the same value as the original, byte by byte, with the original's name in it.
// Terms that no two reports share have no key (docs/adr/0026-keys-in-the-term-index.md).
var copySteps = []step{
	{"originals", `
CREATE FUNCTION pg_temp.copies() RETURNS int LANGUAGE sql AS $$ SELECT current_setting('docket.copies')::int $$;
CREATE FUNCTION pg_temp.cluster() RETURNS int LANGUAGE sql AS
$$ SELECT id FROM docket.cluster WHERE name = current_setting('docket.cluster') $$;
CREATE FUNCTION pg_temp.resource() RETURNS smallint LANGUAGE sql AS
$$ SELECT id FROM docket.resource WHERE name = '/wgpolicyk8s.io/policyreports/' $$;
-- The k-th relative of a UUID, a key that ends with one, a hash, and a revision.
CREATE FUNCTION pg_temp.uuid_of(u text, k int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT lpad(to_hex((('x' || left(u, 8))::bit(32)::bigint + k::bigint * 12345679) & 4294967295), 8, '0') || substr(u, 9) $$;
CREATE FUNCTION pg_temp.key_of(key text, k int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT split_part(key, '/', 1) || '/' || pg_temp.uuid_of(split_part(key, '/', 2), k) $$;
CREATE FUNCTION pg_temp.hash_of(id bigint, k int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT id # (k::bigint * 1000000007) $$;
CREATE TEMP TABLE copied AS SELECT pg_temp.copies() AS copies, pg_temp.cluster() AS cluster, pg_temp.resource() AS resource,
    (SELECT revision FROM docket.revision WHERE cluster = pg_temp.cluster()) AS revision;
CREATE TEMP TABLE o AS SELECT * FROM docket.object WHERE (cluster, resource) IN (SELECT cluster, resource FROM copied) ORDER BY created;
CREATE TEMP TABLE r AS SELECT * FROM docket.report WHERE (cluster, resource) IN (SELECT cluster, resource FROM copied) ORDER BY object;
CREATE TEMP TABLE s AS SELECT * FROM docket.subject WHERE (cluster, id) IN (SELECT cluster, scope FROM r);
CREATE TEMP TABLE t AS SELECT *, false AS own FROM docket.term WHERE (cluster, resource) IN (SELECT cluster, resource FROM copied) ORDER BY created;
UPDATE t SET own = true WHERE name IN (SELECT name FROM t GROUP BY name HAVING count(*) = count(DISTINCT value))`},
	{"indexes dropped", `
CREATE TEMP TABLE dropped AS
SELECT i.relname AS index, t.relname AS table, c.conname AS "constraint", CASE WHEN c.conname IS NULL THEN pg_get_indexdef(x.indexrelid)
    ELSE format('ALTER TABLE docket.%I ADD CONSTRAINT %I %s', t.relname, c.conname, pg_get_constraintdef(c.oid)) END AS again
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS t ON t.oid = x.indrelid
LEFT JOIN pg_constraint AS c ON c.conindid = x.indexrelid
WHERE t.relnamespace = 'docket'::regnamespace AND t.relname IN ` + filledTables + `;
DO $$
DECLARE d record;
BEGIN
    FOR d IN SELECT * FROM dropped LOOP
        IF d."constraint" IS NULL THEN EXECUTE format('DROP INDEX docket.%I', d.index);
        ELSE EXECUTE format('ALTER TABLE docket.%I DROP CONSTRAINT %I', d.table, d."constraint");
        END IF;
    END LOOP;
END $$`},
	{"objects", `
INSERT INTO docket.object (created, revision, expires_at, cluster, size, resource, codec, key, data, derived)
SELECT created + k * c.revision, o.revision + k * c.revision, expires_at, o.cluster, size, o.resource, codec, pg_temp.key_of(key, k), data, derived
FROM copied AS c, generate_series(1, c.copies) AS k, o`},
	{"reports", `
INSERT INTO docket.report (object, scope, created_at, result_seconds, pass, fail, warn, error, skip, cluster, resource, namespace, name, uid,
    kind, source, verdicts, seconds, ordinals)
SELECT object + k * c.revision, pg_temp.hash_of(scope, k), created_at, result_seconds, pass, fail, warn, error, skip, r.cluster, r.resource,
    namespace, pg_temp.uuid_of(name, k), pg_temp.uuid_of(uid, k), kind, source, verdicts, seconds, ordinals
FROM copied AS c, generate_series(1, c.copies) AS k, r`},
	{"subjects", `
INSERT INTO docket.subject (id, cluster, api_version, kind, namespace, name, uid)
SELECT pg_temp.hash_of(id, k), s.cluster, api_version, kind, namespace, name || '-' || k, pg_temp.uuid_of(uid, k)
FROM copied AS c, generate_series(1, c.copies) AS k, s`},
	{"terms", `
INSERT INTO docket.term (name, value, created, cluster, resource, key)
SELECT name, CASE WHEN own THEN pg_temp.hash_of(value, k) ELSE value END, created + k * c.revision, t.cluster, t.resource,
    CASE key WHEN '' THEN '' ELSE pg_temp.key_of(key, k) END
FROM copied AS c, generate_series(1, c.copies) AS k, t`},
	{"sums, and history dropped", `
UPDATE docket.total AS t SET objects = objects * (copies + 1), bytes = bytes * (copies + 1), results = results * (copies + 1)
FROM copied AS c WHERE (t.cluster, t.resource) = (c.cluster, c.resource);
UPDATE docket.tally AS t SET results = results * (copies + 1) FROM copied AS c WHERE t.cluster = c.cluster;
UPDATE docket.tally_change AS t SET times = times * (copies + 1) FROM copied AS c WHERE t.cluster = c.cluster;
UPDATE docket.revision AS r SET revision = r.revision * (copies + 1), compacted = r.revision * (copies + 1)
FROM copied AS c WHERE r.cluster = c.cluster;
DELETE FROM docket.event WHERE cluster = pg_temp.cluster()`},
	{"indexes", `
DO $$
DECLARE d record;
BEGIN
    FOR d IN SELECT * FROM dropped ORDER BY "constraint" LOOP EXECUTE d.again; END LOOP;
END $$`},
}

// copyAll adds copies of all PolicyReports of a cluster to a PostgreSQL database, and leaves no history. No server may
// use the database meanwhile. When it fails nothing is changed.
func copyAll(ctx context.Context, url, cluster string, copies int) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	// The counters of results are kept here: a trigger must not take them for wrong.
	for name, value := range map[string]string{
		"docket.copies": fmt.Sprint(copies), "docket.cluster": cluster, "docket.tally": "kept", "maintenance_work_mem": "1GB",
	} {
		if _, err := conn.Exec(ctx, "SELECT set_config($1, $2, false)", name, value); err != nil {
			return err
		}
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, step := range copySteps {
			if err := step.run(ctx, tx.Conn()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return step{"statistics", "VACUUM ANALYZE"}.run(ctx, conn)
}

// run does all statements of a step, and says how long it took.
func (s step) run(ctx context.Context, conn *pgx.Conn) error {
	started := time.Now()
	if _, err := conn.PgConn().Exec(ctx, strings.TrimSpace(s.sql)).ReadAll(); err != nil {
		return fmt.Errorf("copy: %s: %w", s.what, err)
	}
	_, err := fmt.Fprintf(os.Stderr, "copies: %s  %s\n", s.what, time.Since(started).Round(time.Millisecond))
	return err
}
