-- +goose Up

-- Messages have placeholders for the resource that a result is about, so that what is said
-- of each of a thousand pods is stored once: internal/results/template.go. The views are the
-- same as before, but put the names back.
DROP VIEW policy_results;
DROP VIEW policy_result_counts;

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
    replace(replace(replace(verdict.message,
        char(1), coalesce(subject.name, '')), char(2), coalesce(subject.namespace, '')), char(3), coalesce(subject.uid, '')) AS message,
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
    replace(replace(replace(verdict.message,
        char(1), coalesce(subject.name, '')), char(2), coalesce(subject.namespace, '')), char(3), coalesce(subject.uid, '')),
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(result.seconds, 0), 'unixepoch'),
    nullif(verdict.properties, '')
FROM result
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = report.scope
WHERE result.subject IS NULL;

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
    replace(replace(replace(verdict.message,
        char(1), '{name}'), char(2), '{namespace}'), char(3), '{uid}') AS message,
    (SELECT count(*) FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
        AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))) AS results
FROM verdict
LEFT JOIN cluster ON cluster.id = verdict.cluster
WHERE EXISTS (SELECT 1 FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object)));
