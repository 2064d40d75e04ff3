-- +goose Up

-- Messages have placeholders for the resource that a result is about, so that what is said
-- of each of a thousand pods is stored once: internal/results/template.go. This function
-- puts the names back. It is so plain that the planner writes its body in its place.
CREATE FUNCTION docket.message(template text, name text, namespace text, uid text)
    RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(replace(replace(template,
        E'\x01', coalesce(name, '')), E'\x02', coalesce(namespace, '')), E'\x03', coalesce(uid, ''));

-- The same views as before, but for the messages.
CREATE OR REPLACE VIEW docket.policy_results AS
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
    docket.message(verdict.message, subject.name, subject.namespace, subject.uid) AS message,
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
    docket.message(verdict.message, subject.name, subject.namespace, subject.uid),
    to_timestamp(nullif(coalesce(report.seconds[entry.place], report.result_seconds), 0)),
    nullif(verdict.properties, '')::jsonb
FROM docket.report
CROSS JOIN LATERAL unnest(report.verdicts) WITH ORDINALITY AS entry (verdict, place)
JOIN docket.verdict ON verdict.cluster = report.cluster AND verdict.id = entry.verdict
    AND report.verdicts @> ARRAY[verdict.id]
LEFT JOIN docket.cluster ON cluster.id = report.cluster
LEFT JOIN docket.subject ON subject.cluster = report.cluster AND subject.id = report.scope;

CREATE OR REPLACE VIEW docket.policy_result_counts AS
SELECT
    cluster.name     AS cluster,
    verdict.source   AS source,
    verdict.policy   AS policy,
    verdict.rule     AS rule,
    verdict.category AS category,
    verdict.severity AS severity,
    verdict.result   AS result,
    verdict.scored   AS scored,
    docket.message(verdict.message, '{name}', '{namespace}', '{uid}') AS message,
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
    docket.message(verdict.message, '{name}', '{namespace}', '{uid}'),
    entry.results
FROM (
    SELECT e.cluster, e.verdict, count(*) AS results
    FROM (SELECT report.cluster, unnest(report.verdicts) AS verdict FROM docket.report) AS e
    GROUP BY e.cluster, e.verdict
) AS entry
JOIN docket.verdict ON verdict.cluster = entry.cluster AND verdict.id = entry.verdict
LEFT JOIN docket.cluster ON cluster.id = verdict.cluster;
