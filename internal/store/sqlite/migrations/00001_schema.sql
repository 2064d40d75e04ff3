-- +goose Up

-- The clusters that share this database. Every other table but resource is led
-- by cluster.id.
CREATE TABLE cluster (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL, -- Unix milliseconds
    uid        TEXT              -- of the Kubernetes cluster's namespace kube-system; null until a server says it
) STRICT;

-- One row a cluster: the counter behind resourceVersion.
CREATE TABLE revision (
    cluster       INTEGER NOT NULL PRIMARY KEY,
    revision      INTEGER NOT NULL, -- of the last change; the first is 2
    compacted     INTEGER NOT NULL, -- events up to here are gone or going
    incarnation   INTEGER NOT NULL,
    history_bytes INTEGER NOT NULL, -- sum of what events take (engine.EventBytes), over all time
    min_reader    INTEGER NOT NULL DEFAULT 0, -- the newest format that may be in the database: engine.Demands
    min_writer    INTEGER NOT NULL DEFAULT 0, -- the oldest format that may still be written
    -- The revision that tally is as of. After a change by something that doesn't keep tally it is another one; this is
    -- noticed when the database is opened, and everything is counted.
    tallied       INTEGER NOT NULL DEFAULT 0,
    -- Late results are those of later objects only.
    indexed       INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Names of key spaces, such as "/wgpolicyk8s.io/policyreports/".
CREATE TABLE resource (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

-- Sums over the objects of a resource, kept in the transactions that change
-- them: counting a million rows takes seconds.
CREATE TABLE total (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    objects  INTEGER NOT NULL,
    bytes    INTEGER NOT NULL, -- sum of object.size
    results  INTEGER NOT NULL, -- rows in result
    -- The versions that derived the rows of the objects:
    complete INTEGER NOT NULL DEFAULT 0, -- all have this one at least
    building INTEGER NOT NULL DEFAULT 0, -- the newest that somebody makes or made complete
    highest  INTEGER NOT NULL DEFAULT 0, -- the newest that any has or had
    mark     INTEGER NOT NULL DEFAULT 0, -- revision of the last change by a version older than building
    PRIMARY KEY (cluster, resource)
) STRICT, WITHOUT ROWID;

-- The current objects. created identifies an object in all tables below.
CREATE TABLE object (
    cluster    INTEGER NOT NULL,
    resource   INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    revision   INTEGER NOT NULL, -- that wrote data
    created    INTEGER NOT NULL, -- revision that created the object
    expires_at INTEGER NOT NULL, -- Unix seconds; 0 is never
    size       INTEGER NOT NULL, -- of data when it is decoded
    codec      INTEGER NOT NULL,
    data       BLOB    NOT NULL,
    derived    INTEGER NOT NULL DEFAULT 0, -- version that derived its index terms and result rows
    terms      BLOB, -- its terms in term_key, 8 bytes each; null for none
    PRIMARY KEY (cluster, resource, key)
) STRICT;
CREATE INDEX object_expires ON object (cluster, expires_at) WHERE expires_at > 0;

-- The changes. The value that an event wrote is previous_data of the next event
-- of its key, or object.data.
CREATE TABLE event (
    cluster           INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    resource          INTEGER NOT NULL,
    key               TEXT    NOT NULL,
    kind              INTEGER NOT NULL, -- 1 create, 2 update, 3 delete
    created           INTEGER NOT NULL,
    previous_revision INTEGER NOT NULL, -- 0 for create
    previous_codec    INTEGER NOT NULL,
    previous_size     INTEGER NOT NULL,
    previous_data     BLOB,             -- null for create
    committed_at      INTEGER NOT NULL, -- Unix milliseconds
    total_bytes       INTEGER NOT NULL, -- sum of what events take up to here
    PRIMARY KEY (cluster, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_key ON event (cluster, resource, key, revision);

-- Index terms, hashes of labels and fields, with the keys of their objects, so that a list reads those of a term in the
-- order of keys.
CREATE TABLE term_key (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    term     INTEGER NOT NULL, -- 24 bits of the name's hash, then 40 of the value's
    key      TEXT    NOT NULL, -- object.key
    PRIMARY KEY (cluster, resource, term, key)
) STRICT, WITHOUT ROWID;

-- Reports as rows: rebuilt from objects, never the reverse.
CREATE TABLE report (
    cluster    INTEGER NOT NULL,
    object     INTEGER NOT NULL, -- object.created
    resource   INTEGER NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    uid        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at INTEGER NOT NULL, -- Unix seconds
    scope      INTEGER,          -- subject.id
    pass       INTEGER NOT NULL,
    fail       INTEGER NOT NULL,
    warn       INTEGER NOT NULL,
    error      INTEGER NOT NULL,
    skip       INTEGER NOT NULL,
    PRIMARY KEY (cluster, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_scope ON report (cluster, scope) WHERE scope IS NOT NULL;

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

-- Entries of reports, one row for each subject that an entry names.
CREATE TABLE result (
    cluster  INTEGER NOT NULL,
    object   INTEGER NOT NULL, -- report.object
    position INTEGER NOT NULL, -- among the rows of the report, from 0
    idx      INTEGER NOT NULL, -- of the entry in the report
    verdict  INTEGER NOT NULL, -- verdict.id
    subject  INTEGER,          -- subject.id; null for report.scope
    seconds  INTEGER NOT NULL, -- Unix time; 0 for none
    ordinal  INTEGER NOT NULL DEFAULT 0, -- how many before it in the report have the same subject, source, policy and rule
    late     INTEGER NOT NULL, -- 1: result_verdict does not have it yet
    PRIMARY KEY (cluster, object, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX result_subject ON result (cluster, subject) WHERE subject IS NOT NULL;
-- The subject lets questions count and find subjects without touching the table. Results of new objects are late: they
-- are entered many at once, docs/adr/0059-late-index.md.
CREATE INDEX result_verdict ON result (cluster, verdict, subject) WHERE late = 0;

-- What many results share. The id is a hash of the other columns.
CREATE TABLE verdict (
    cluster    INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    source     TEXT    NOT NULL,
    policy     TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    severity   TEXT    NOT NULL,
    result     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    scored     INTEGER NOT NULL, -- 0 or 1
    properties TEXT    NOT NULL, -- JSON object; '' for none
    PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;

-- The resources that results are about. The id is a hash of the other columns.
CREATE TABLE subject (
    cluster     INTEGER NOT NULL,
    id          INTEGER NOT NULL,
    api_version TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    uid         TEXT    NOT NULL,
    PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;
-- People look for a resource by its name or by its UID.
CREATE INDEX subject_name ON subject (name, namespace);
CREATE INDEX subject_uid ON subject (uid);

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

-- Rows that are derived anew take no revision: tally is void all the same.
-- +goose StatementBegin
CREATE TRIGGER void_tally AFTER UPDATE OF derived ON object WHEN NEW.revision = OLD.revision
BEGIN
    UPDATE revision SET tallied = 0 WHERE cluster = NEW.cluster;
END;
-- +goose StatementEnd

-- What ANALYZE would find in a large database, so that the planner knows from the
-- start that a cluster's id alone selects nothing: without it, it scans all results
-- for each verdict. Numbers: rows, then rows for each value of the first column, the
-- first two and so on. ANALYZE replaces them by those of the database.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('cluster', 'sqlite_autoindex_cluster_1', '2 1'),
    ('outcome', 'outcome', '2000 2000 1'),
    ('report', 'report', '60000 60000 1'),
    ('report', 'report_scope', '60000 60000 2'),
    ('result', 'result', '1000000 1000000 16 1'),
    ('result', 'result_subject', '1000000 1000000 16'),
    ('result', 'result_verdict', '1000000 1000000 16 4'),
    ('subject', 'subject', '60000 60000 1'),
    ('subject', 'subject_name', '60000 4 2'),
    ('subject', 'subject_uid', '60000 2'),
    ('tally', 'tally', '100000 100000 200 200 1'),
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
--
-- Messages have placeholders for the resource that a result is about, so that what is said
-- of each of a thousand pods is stored once: internal/results/template.go. The views put
-- the names back.
--
-- Results of a large report are there when their report is: EXISTS looks for it.
--
-- Late results have a branch of their own, so that the others can use the index of verdicts: they are few.
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
    AND result.late = 0
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
WHERE result.subject IS NULL
    AND result.late = 0
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
FROM revision
CROSS JOIN result ON result.cluster = revision.cluster AND result.object > revision.indexed
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = coalesce(result.subject, report.scope)
WHERE result.late = 1;

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
    replace(replace(replace(verdict.message,
        char(1), '{name}'), char(2), '{namespace}'), char(3), '{uid}') AS message,
    coalesce(late.results, 0) + (SELECT count(*) FROM result
        WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id AND result.late = 0
        AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))) AS results
FROM verdict
LEFT JOIN cluster ON cluster.id = verdict.cluster
LEFT JOIN (
    SELECT result.cluster, result.verdict, count(*) AS results
    FROM revision CROSS JOIN result ON result.cluster = revision.cluster AND result.object > revision.indexed
    WHERE result.late = 1
    GROUP BY result.cluster, result.verdict
) AS late ON late.cluster = verdict.cluster AND late.verdict = verdict.id
WHERE late.results > 0 OR EXISTS (SELECT 1 FROM result
    WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id AND result.late = 0
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object)));

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

CREATE VIEW clusters AS
SELECT
    cluster.name AS name,
    strftime('%Y-%m-%dT%H:%M:%SZ', cluster.created_at / 1000, 'unixepoch') AS first_seen,
    (SELECT count(*) FROM report WHERE report.cluster = cluster.id) AS reports,
    (SELECT coalesce(sum(total.results), 0) FROM total WHERE total.cluster = cluster.id) AS results
FROM cluster;

CREATE VIEW sql_contract AS SELECT 1 AS version;
