-- +goose Up

-- The subject lets questions count and find subjects without touching the table.
DROP INDEX result_verdict;
CREATE INDEX result_verdict ON result (cluster, verdict, subject);
-- People look for a resource by its name or by its UID.
CREATE INDEX subject_name ON subject (name, namespace);
CREATE INDEX subject_uid ON subject (uid);

-- What ANALYZE would find in a large database, so that the planner knows from the
-- start that a cluster's id alone selects nothing: without it, it scans all results
-- for each verdict. Numbers: rows, then rows for each value of the first column, the
-- first two and so on. ANALYZE replaces them by those of the database.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('cluster', 'sqlite_autoindex_cluster_1', '2 1'),
    ('report', 'report', '60000 60000 1'),
    ('report', 'report_scope', '60000 60000 2'),
    ('result', 'result', '1000000 1000000 16 1'),
    ('result', 'result_subject', '1000000 1000000 16'),
    ('result', 'result_verdict', '1000000 1000000 16 4'),
    ('subject', 'subject', '60000 60000 1'),
    ('subject', 'subject_name', '60000 4 2'),
    ('subject', 'subject_uid', '60000 2'),
    ('verdict', 'verdict', '60000 60000 1');

-- The SQL contract for people, version 1. Names, columns, their types and meaning
-- are promised in docs/operate/sql.md; everything else in this file may change.
--
-- Why two branches: a result is about its own subject or, when it has none, about
-- the report's scope. One query with coalesce(result.subject, report.scope) could
-- use no index to find a subject.
--
-- Why LEFT JOIN where a row always exists: the planner leaves out joins that no
-- column of a question needs, but only outer ones. Conditions on such a column turn
-- it into an inner join again. The report of the second branch is joined always:
-- else a subject could not lead to its reports.
CREATE VIEW policy_results AS
SELECT
    cluster.name                AS cluster,
    report.namespace            AS namespace,
    report.kind                 AS report_kind,
    report.name                 AS report,
    report.uid                  AS report_uid,
    result.idx                  AS result_index,
    verdict.source              AS source,
    verdict.policy              AS policy,
    verdict.rule                AS rule,
    verdict.category            AS category,
    verdict.severity            AS severity,
    verdict.result              AS result,
    verdict.scored              AS scored,
    subject.api_version         AS subject_api_version,
    subject.kind                AS subject_kind,
    subject.namespace           AS subject_namespace,
    subject.name                AS subject_name,
    subject.uid                 AS subject_uid,
    verdict.message             AS message,
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(result.seconds, 0), 'unixepoch') AS timestamp,
    nullif(verdict.properties, '') AS properties
FROM result
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
LEFT JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = result.subject
WHERE result.subject IS NOT NULL
UNION ALL
SELECT
    cluster.name,
    report.namespace,
    report.kind,
    report.name,
    report.uid,
    result.idx,
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
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(result.seconds, 0), 'unixepoch'),
    nullif(verdict.properties, '')
FROM result
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = report.scope
WHERE result.subject IS NULL;

CREATE VIEW policy_report_summaries AS
SELECT
    cluster.name        AS cluster,
    report.namespace    AS namespace,
    report.kind         AS report_kind,
    report.name         AS report,
    report.uid          AS uid,
    report.source       AS source,
    subject.api_version AS scope_api_version,
    subject.kind        AS scope_kind,
    subject.namespace   AS scope_namespace,
    subject.name        AS scope_name,
    subject.uid         AS scope_uid,
    report.pass         AS pass,
    report.fail         AS fail,
    report.warn         AS warn,
    report.error        AS error,
    report.skip         AS skip,
    report.pass + report.fail + report.warn + report.error + report.skip AS total,
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(report.created_at, 0), 'unixepoch') AS created_at
FROM report
LEFT JOIN cluster ON cluster.id = report.cluster
LEFT JOIN subject ON subject.cluster = report.cluster AND subject.id = report.scope;

-- How often each verdict was reached. The same as a count over policy_results, but
-- it reads one index and no result.
CREATE VIEW policy_result_counts AS
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
    (SELECT count(*) FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id) AS results
FROM verdict
LEFT JOIN cluster ON cluster.id = verdict.cluster
WHERE EXISTS (SELECT 1 FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id);

CREATE VIEW clusters AS
SELECT
    cluster.name AS name,
    strftime('%Y-%m-%dT%H:%M:%SZ', cluster.created_at / 1000, 'unixepoch') AS first_seen,
    (SELECT count(*) FROM report WHERE report.cluster = cluster.id) AS reports,
    (SELECT coalesce(sum(total.results), 0) FROM total WHERE total.cluster = cluster.id) AS results
FROM cluster;

CREATE VIEW sql_contract AS SELECT 1 AS version;
