-- +goose Up

-- The rows of a large report are written before the report, and removed after it, in many short transactions.
-- They are under a number of their own, below 0, which the report has instead of object.created.
CREATE TABLE large (
    cluster INTEGER NOT NULL,
    object  INTEGER NOT NULL, -- report.object and result.object
    created INTEGER NOT NULL, -- object.created; 0 before the report is there, -1 when it is gone
    results INTEGER NOT NULL, -- the positions of its results are below
    PRIMARY KEY (cluster, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX large_created ON large (cluster, created);

-- Results are there when their report is.
DROP VIEW policy_results;
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
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))
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

DROP VIEW policy_result_counts;
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
    (SELECT count(*) FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
        AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))) AS results
FROM verdict
LEFT JOIN cluster ON cluster.id = verdict.cluster
WHERE EXISTS (SELECT 1 FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object)));
