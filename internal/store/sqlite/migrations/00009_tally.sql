-- +goose Up

-- Counters of results, kept by the transactions that change reports: docs/adr/0030-counters.md.

-- What verdicts have in common but for their words. The id is a hash of the other columns.
CREATE TABLE outcome (
    cluster  INTEGER NOT NULL,
    id       INTEGER NOT NULL,
    source   TEXT    NOT NULL,
    policy   TEXT    NOT NULL,
    rule     TEXT    NOT NULL,
    category TEXT    NOT NULL,
    severity TEXT    NOT NULL,
    result   TEXT    NOT NULL,
    scored   INTEGER NOT NULL, -- 0 or 1
    PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;

-- Results of an outcome in the reports of a namespace.
CREATE TABLE tally (
    cluster   INTEGER NOT NULL,
    namespace TEXT    NOT NULL, -- of the report, as kind is
    kind      TEXT    NOT NULL,
    outcome   INTEGER NOT NULL, -- outcome.id
    results   INTEGER NOT NULL,
    -- A report changes counters of one namespace, which are on one page or two.
    PRIMARY KEY (cluster, namespace, kind, outcome)
) STRICT, WITHOUT ROWID;
CREATE INDEX tally_empty ON tally (cluster) WHERE results = 0;

-- The revision that tally is as of. A program that doesn't know it leaves another one; it is noticed when the database
-- is opened, and everything counted. Rows that are derived anew take no revision: this trigger notices.
ALTER TABLE revision ADD COLUMN tallied INTEGER NOT NULL DEFAULT 0;
-- +goose StatementBegin
CREATE TRIGGER void_tally AFTER UPDATE OF derived ON object WHEN NEW.revision = OLD.revision
BEGIN
    UPDATE revision SET tallied = 0 WHERE cluster = NEW.cluster;
END;
-- +goose StatementEnd

-- As in migration 2: the first statement makes the table if it is missing.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('outcome', 'outcome', '2000 2000 1'),
    ('tally', 'tally', '100000 100000 200 200 1');

-- The same as a count over policy_results. Where tally is out of date everything is counted.
CREATE VIEW policy_namespace_counts AS
SELECT
    cluster.name     AS cluster,
    tally.namespace  AS namespace,
    tally.kind       AS report_kind,
    outcome.source   AS source,
    outcome.policy   AS policy,
    outcome.rule     AS rule,
    outcome.category AS category,
    outcome.severity AS severity,
    outcome.result   AS result,
    outcome.scored   AS scored,
    tally.results    AS results
FROM tally
JOIN outcome ON outcome.cluster = tally.cluster AND outcome.id = tally.outcome
JOIN revision ON revision.cluster = tally.cluster AND revision.tallied = revision.revision
JOIN cluster ON cluster.id = tally.cluster
WHERE tally.results <> 0
UNION ALL
SELECT p.cluster, p.namespace, p.report_kind, p.source, p.policy, p.rule, p.category, p.severity, p.result, p.scored, count(*)
FROM policy_results AS p
WHERE EXISTS (SELECT 1 FROM revision WHERE tallied <> revision)
    AND p.cluster IN (SELECT cluster.name FROM revision JOIN cluster ON cluster.id = revision.cluster WHERE tallied <> revision)
GROUP BY p.cluster, p.namespace, p.report_kind, p.source, p.policy, p.rule, p.category, p.severity, p.result, p.scored;
