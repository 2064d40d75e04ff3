-- +goose Up

-- The clusters that share this database. Every other table but resource is led
-- by cluster.id.
CREATE TABLE cluster (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL -- Unix milliseconds
) STRICT;

-- One row a cluster: the counter behind resourceVersion.
CREATE TABLE revision (
    cluster       INTEGER NOT NULL PRIMARY KEY,
    revision      INTEGER NOT NULL, -- of the last change; the first is 2
    compacted     INTEGER NOT NULL, -- events up to here are gone or going
    incarnation   INTEGER NOT NULL,
    history_bytes INTEGER NOT NULL  -- sum of what events take (engine.EventBytes), over all time
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
    PRIMARY KEY (cluster, resource, key)
) STRICT;
CREATE UNIQUE INDEX object_created ON object (cluster, created);
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

-- Index terms of objects: hashes of labels and fields.
CREATE TABLE term (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    name     INTEGER NOT NULL,
    value    INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    PRIMARY KEY (cluster, resource, name, value, created)
) STRICT, WITHOUT ROWID;
CREATE INDEX term_object ON term (cluster, created);

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

-- Entries of reports, one row for each subject that an entry names.
CREATE TABLE result (
    cluster  INTEGER NOT NULL,
    object   INTEGER NOT NULL, -- report.object
    position INTEGER NOT NULL, -- among the rows of the report, from 0
    idx      INTEGER NOT NULL, -- of the entry in the report
    verdict  INTEGER NOT NULL, -- verdict.id
    subject  INTEGER,          -- subject.id; null for report.scope
    seconds  INTEGER NOT NULL, -- Unix time; 0 for none
    PRIMARY KEY (cluster, object, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX result_verdict ON result (cluster, verdict);
CREATE INDEX result_subject ON result (cluster, subject) WHERE subject IS NOT NULL;

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
