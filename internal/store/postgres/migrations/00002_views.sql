-- +goose Up

-- People look for a resource by its name or by its UID. Hash indexes, because these
-- texts are as long as a producer likes, and a B-tree refuses long ones.
CREATE INDEX subject_name ON docket.subject USING hash (name);
CREATE INDEX subject_uid ON docket.subject USING hash (uid);

-- The SQL contract for people, version 1. Names, columns, their types and meaning
-- are promised in docs/operate/sql.md; everything else in this schema may change.
--
-- Why two branches: entries that name subjects are rows of result, the others are
-- elements of report.verdicts. Those are joined with verdict by their value, which
-- can be a hash join of everything; the condition with @> says the same again, for
-- the index report_verdicts, which leads from few verdicts to their reports.
--
-- Why LEFT JOIN where a row always exists: the planner leaves out joins that no
-- column of a question needs, but only outer ones. Conditions on such a column turn
-- it into an inner join again.
CREATE VIEW docket.policy_results AS
SELECT
    cluster.name                           AS cluster,
    report.namespace                       AS namespace,
    report.kind                            AS report_kind,
    report.name                            AS report,
    report.uid                             AS report_uid,
    result.idx                             AS result_index,
    verdict.source                         AS source,
    verdict.policy                         AS policy,
    verdict.rule                           AS rule,
    verdict.category                       AS category,
    verdict.severity                       AS severity,
    verdict.result                         AS result,
    verdict.scored                         AS scored,
    subject.api_version                    AS subject_api_version,
    subject.kind                           AS subject_kind,
    subject.namespace                      AS subject_namespace,
    subject.name                           AS subject_name,
    subject.uid                            AS subject_uid,
    verdict.message                        AS message,
    to_timestamp(nullif(result.seconds, 0)) AS "timestamp",
    nullif(verdict.properties, '')::jsonb  AS properties
FROM docket.result
JOIN docket.verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN docket.cluster ON cluster.id = result.cluster
LEFT JOIN docket.report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN docket.subject ON subject.cluster = result.cluster AND subject.id = result.subject
UNION ALL
SELECT
    cluster.name,
    report.namespace,
    report.kind,
    report.name,
    report.uid,
    (entry.place - 1)::int4,
    verdict.source,
    verdict.policy,
    verdict.rule,
    verdict.category,
    verdict.severity,
    verdict.result,
    verdict.scored,
    subject.api_version,
    subject.kind,
    subject.namespace,
    subject.name,
    subject.uid,
    verdict.message,
    to_timestamp(nullif(coalesce(report.seconds[entry.place], report.result_seconds), 0)),
    nullif(verdict.properties, '')::jsonb
FROM docket.report
CROSS JOIN LATERAL unnest(report.verdicts) WITH ORDINALITY AS entry (verdict, place)
JOIN docket.verdict ON verdict.cluster = report.cluster AND verdict.id = entry.verdict
    AND report.verdicts @> ARRAY[verdict.id]
LEFT JOIN docket.cluster ON cluster.id = report.cluster
LEFT JOIN docket.subject ON subject.cluster = report.cluster AND subject.id = report.scope;

CREATE VIEW docket.policy_report_summaries AS
SELECT
    cluster.name                      AS cluster,
    report.namespace                  AS namespace,
    report.kind                       AS report_kind,
    report.name                       AS report,
    report.uid                        AS uid,
    report.source                     AS source,
    subject.api_version               AS scope_api_version,
    subject.kind                      AS scope_kind,
    subject.namespace                 AS scope_namespace,
    subject.name                      AS scope_name,
    subject.uid                       AS scope_uid,
    report.pass                       AS pass,
    report.fail                       AS fail,
    report.warn                       AS warn,
    report.error                      AS error,
    report.skip                       AS skip,
    report.pass + report.fail + report.warn + report.error + report.skip AS total,
    to_timestamp(nullif(report.created_at, 0)) AS created_at
FROM docket.report
LEFT JOIN docket.cluster ON cluster.id = report.cluster
LEFT JOIN docket.subject ON subject.cluster = report.cluster AND subject.id = report.scope;

-- How often each verdict was reached. The same as a count over policy_results, but
-- it makes no row for each result. Rows of result are grouped by keys, on which all
-- columns depend: so conditions on them choose verdicts before anything is counted.
-- Elements of arrays are all counted before: with the index report_verdicts one
-- verdict is counted ten times as fast, and all of them three times as slowly. A
-- verdict that is in both places has two rows.
CREATE VIEW docket.policy_result_counts AS
SELECT
    cluster.name     AS cluster,
    verdict.source   AS source,
    verdict.policy   AS policy,
    verdict.rule     AS rule,
    verdict.category AS category,
    verdict.severity AS severity,
    verdict.result   AS result,
    verdict.scored   AS scored,
    verdict.message  AS message,
    count(*)         AS results
FROM docket.result
JOIN docket.verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN docket.cluster ON cluster.id = verdict.cluster
GROUP BY verdict.id, verdict.cluster, cluster.id
UNION ALL
SELECT
    cluster.name,
    verdict.source,
    verdict.policy,
    verdict.rule,
    verdict.category,
    verdict.severity,
    verdict.result,
    verdict.scored,
    verdict.message,
    entry.results
FROM (
    SELECT e.cluster, e.verdict, count(*) AS results
    FROM (SELECT report.cluster, unnest(report.verdicts) AS verdict FROM docket.report) AS e
    GROUP BY e.cluster, e.verdict
) AS entry
JOIN docket.verdict ON verdict.cluster = entry.cluster AND verdict.id = entry.verdict
LEFT JOIN docket.cluster ON cluster.id = verdict.cluster;

CREATE VIEW docket.clusters AS
SELECT
    cluster.name       AS name,
    cluster.created_at AS first_seen,
    (SELECT count(*) FROM docket.report WHERE report.cluster = cluster.id)                            AS reports,
    (SELECT coalesce(sum(total.results), 0)::int8 FROM docket.total WHERE total.cluster = cluster.id) AS results
FROM docket.cluster;

CREATE VIEW docket.sql_contract AS SELECT 1 AS version;

COMMENT ON VIEW docket.policy_results IS 'One row for each result and subject. Contract: docs/operate/sql.md';
COMMENT ON VIEW docket.policy_report_summaries IS 'One row for each report, with the counts that it states. Contract: docs/operate/sql.md';
COMMENT ON VIEW docket.policy_result_counts IS 'How many results say the same. Contract: docs/operate/sql.md';
COMMENT ON VIEW docket.clusters IS 'The clusters in this database. Contract: docs/operate/sql.md';
COMMENT ON VIEW docket.sql_contract IS 'The version of the contract in docs/operate/sql.md';

-- The role that may read the views and nothing else. Roles belong to the server,
-- not to the database: it may exist, another database's migration may be making it
-- right now, and this user may not be allowed to make it. None of that stops the
-- migration: an administrator can run these statements later.
-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'docket_reader') THEN
        CREATE ROLE docket_reader NOLOGIN;
    END IF;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'role docket_reader was not made: this user may not create roles; docs/operate/sql.md says how to make it';
    WHEN duplicate_object OR unique_violation THEN
        NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    GRANT USAGE ON SCHEMA docket TO docket_reader;
    GRANT SELECT ON docket.policy_results, docket.policy_report_summaries, docket.policy_result_counts,
        docket.clusters, docket.sql_contract TO docket_reader;
EXCEPTION
    WHEN undefined_object THEN
        NULL; -- The role is missing: there was a notice above.
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'role docket_reader got no rights: this user does not own schema docket; docs/operate/sql.md says how to grant them';
END
$$;
-- +goose StatementEnd
