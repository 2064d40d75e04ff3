-- +goose Up

-- Counters of results, kept by the transactions that change reports: docs/adr/0030-counters.md. There is no row that
-- many commits would have to change: they append to tally_change what they change, and housekeeping moves it to tally.

-- What verdicts have in common but for their words. The id is a hash of the other columns.
CREATE TABLE docket.outcome (
    id       int8 NOT NULL,
    cluster  int4 NOT NULL,
    scored   bool NOT NULL,
    source   text NOT NULL,
    policy   text NOT NULL,
    rule     text NOT NULL,
    category text NOT NULL,
    severity text NOT NULL,
    result   text NOT NULL,
    PRIMARY KEY (id, cluster)
);

-- Results of an outcome in the reports of a namespace, but for what is in tally_change.
CREATE TABLE docket.tally (
    outcome   int8 NOT NULL, -- outcome.id
    results   int8 NOT NULL,
    cluster   int4 NOT NULL,
    namespace text NOT NULL, -- of the report, as kind is
    kind      text NOT NULL,
    PRIMARY KEY (outcome, namespace, kind, cluster)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);

-- What commits changed since. Without an index a row costs next to nothing.
CREATE TABLE docket.tally_change (
    times     int4 NOT NULL, -- how many reports more have these verdicts; below 0 for fewer
    cluster   int4 NOT NULL,
    namespace text NOT NULL,
    kind      text NOT NULL,
    verdicts  int8[] NOT NULL -- verdict.id of each result; 0 counts for none
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- Whether the counters of a cluster are kept: 0 is no, 1 that they are about to be made, 2 yes. Housekeeping makes those
-- of clusters that are there: it takes minutes where there is much.
ALTER TABLE docket.revision ADD COLUMN tallied int2 NOT NULL DEFAULT 0;
ALTER TABLE docket.replica ADD COLUMN tallies bool NOT NULL DEFAULT false; -- it keeps counters

-- Whoever writes results and doesn't say that it keeps counters is an older program, or a person: the counters are void
-- from then on. The look-up begins with the newest version of the row, as in migration 8.
-- +goose StatementBegin
CREATE FUNCTION docket.void_tally() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    changed int4 := coalesce(NEW.cluster, OLD.cluster);
BEGIN
    -- Programs have locked it; a person may not have.
    PERFORM FROM docket.revision WHERE cluster + 0 = changed ORDER BY generation DESC LIMIT 1 FOR NO KEY UPDATE;
    UPDATE docket.revision SET tallied = 0
    WHERE tallied <> 0 AND ctid = (SELECT ctid FROM docket.revision WHERE cluster + 0 = changed ORDER BY generation DESC LIMIT 1);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER void_tally AFTER INSERT OR UPDATE OR DELETE ON docket.report
FOR EACH ROW WHEN (current_setting('docket.tally', true) IS DISTINCT FROM 'kept') EXECUTE FUNCTION docket.void_tally();
-- Rows of tally_change need their verdicts until they are moved.
CREATE TRIGGER void_tally AFTER DELETE ON docket.verdict
FOR EACH ROW WHEN (current_setting('docket.tally', true) IS DISTINCT FROM 'kept') EXECUTE FUNCTION docket.void_tally();

-- The first 64 bits of a SHA-256 over texts and their lengths, as verdict.id is made.
CREATE FUNCTION docket.identity(VARIADIC parts text[]) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT ('x' || left(encode(sha256(string_agg(
            int8send(octet_length(p.part)::int8) || convert_to(p.part, 'UTF8'), ''::bytea ORDER BY p.place)), 'hex'), 16))::bit(64)::int8
        FROM unnest(parts) WITH ORDINALITY AS p (part, place)
    );

-- The same as a count over policy_results, from tally and tally_change. Where the counters are not kept everything is
-- counted: that part is not begun where there is no such cluster. Parts are not put together by a GROUP BY, so that
-- conditions on columns reach the tables.
CREATE VIEW docket.policy_namespace_counts AS
WITH share AS MATERIALIZED (
    SELECT cluster.id, cluster.name, newest.tallied = 2 AS kept
    FROM docket.cluster
    CROSS JOIN LATERAL (
        SELECT revision.tallied FROM docket.revision WHERE revision.cluster + 0 = cluster.id ORDER BY revision.generation DESC LIMIT 1
    ) AS newest
), change AS MATERIALIZED (
    SELECT g.*, docket.identity(g.source, g.policy, g.rule, g.category, g.severity, g.result, g.scored::int4::text) AS outcome
    FROM (
        SELECT c.cluster, c.namespace, c.kind, v.source, v.policy, v.rule, v.category, v.severity, v.result, v.scored,
            sum(c.results)::int8 AS results
        FROM (
            SELECT t.cluster, t.namespace, t.kind, entry.verdict, sum(t.times) AS results
            FROM docket.tally_change AS t
            CROSS JOIN LATERAL unnest(t.verdicts) AS entry (verdict)
            GROUP BY t.cluster, t.namespace, t.kind, entry.verdict
            HAVING sum(t.times) <> 0
        ) AS c
        JOIN docket.verdict AS v ON v.cluster = c.cluster AND v.id = c.verdict
        GROUP BY c.cluster, c.namespace, c.kind, v.source, v.policy, v.rule, v.category, v.severity, v.result, v.scored
        HAVING sum(c.results) <> 0
    ) AS g
)
SELECT
    share.name           AS cluster,
    tally.namespace      AS namespace,
    tally.kind           AS report_kind,
    outcome.source       AS source,
    outcome.policy       AS policy,
    outcome.rule         AS rule,
    outcome.category     AS category,
    outcome.severity     AS severity,
    outcome.result       AS result,
    outcome.scored       AS scored,
    tally.results + coalesce(change.results, 0) AS results
FROM docket.tally
JOIN docket.outcome ON outcome.cluster = tally.cluster AND outcome.id = tally.outcome
JOIN share ON share.id = tally.cluster AND share.kept
LEFT JOIN change ON change.cluster = tally.cluster AND change.namespace = tally.namespace AND change.kind = tally.kind
    AND change.outcome = tally.outcome
WHERE tally.results + coalesce(change.results, 0) <> 0
UNION ALL
SELECT share.name, change.namespace, change.kind, change.source, change.policy, change.rule, change.category, change.severity,
    change.result, change.scored, change.results
FROM change
JOIN share ON share.id = change.cluster AND share.kept
WHERE NOT EXISTS (
    SELECT FROM docket.tally WHERE tally.cluster = change.cluster AND tally.namespace = change.namespace AND tally.kind = change.kind
        AND tally.outcome = change.outcome
)
UNION ALL
SELECT p.cluster, p.namespace, p.report_kind, p.source, p.policy, p.rule, p.category, p.severity, p.result, p.scored, count(*)
FROM docket.policy_results AS p
WHERE EXISTS (SELECT FROM share WHERE NOT kept) AND p.cluster IN (SELECT name FROM share WHERE NOT kept)
GROUP BY p.cluster, p.namespace, p.report_kind, p.source, p.policy, p.rule, p.category, p.severity, p.result, p.scored;

COMMENT ON VIEW docket.policy_namespace_counts IS 'How many results of a namespace say the same, but for messages. Contract: docs/operate/sql.md';

-- +goose StatementBegin
DO $$
BEGIN
    GRANT SELECT ON docket.policy_namespace_counts TO docket_reader;
EXCEPTION
    WHEN undefined_object OR insufficient_privilege THEN
        NULL; -- There was a notice in migration 2.
END
$$;
-- +goose StatementEnd

-- The functions of migration 4, with what is new: a cluster without reports has its counters, and there is one more view.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION docket.cluster_id(cluster_name text) RETURNS int4 LANGUAGE sql AS $$
    WITH made AS (
        INSERT INTO docket.cluster (name) VALUES (cluster_name) ON CONFLICT (name) DO NOTHING RETURNING id
    )
    INSERT INTO docket.revision (cluster, revision, compacted, incarnation, history_bytes, committed_at, tidied,
        system_identifier, timeline, relation, tallied)
    SELECT id, 1, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, 0, clock_timestamp(), 0, 0, 0, 0, 2
    FROM made;
    SELECT id FROM docket.cluster WHERE name = cluster_name;
$$;
CREATE OR REPLACE FUNCTION docket.confine_reader(reader text, cluster_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    view record;
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', reader);
    FOR view IN
        SELECT * FROM (VALUES ('policy_results', 'cluster'), ('policy_report_summaries', 'cluster'),
            ('policy_result_counts', 'cluster'), ('policy_namespace_counts', 'cluster'), ('clusters', 'name')) AS v (name, col)
    LOOP
        EXECUTE format('CREATE OR REPLACE VIEW %I.%I WITH (security_barrier) AS SELECT * FROM docket.%I WHERE %I = %L',
            reader, view.name, view.name, view.col, cluster_name);
    END LOOP;
    EXECUTE format('CREATE OR REPLACE VIEW %I.sql_contract AS SELECT * FROM docket.sql_contract', reader);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', reader, reader);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', reader, reader);
END
$$;
-- +goose StatementEnd
