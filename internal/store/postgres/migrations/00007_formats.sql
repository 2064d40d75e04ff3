-- +goose Up

-- What a program must be able to read and write to use a cluster.
ALTER TABLE docket.revision
    ADD COLUMN min_reader int2 NOT NULL DEFAULT 0,
    ADD COLUMN min_writer int2 NOT NULL DEFAULT 0;

-- The processes that use a cluster. Each says every ten seconds that it lives. Roles that were confined to a cluster
-- before this table was there need docket.confine once more.
CREATE TABLE docket.replica (
    seen     timestamptz NOT NULL,
    cluster  int4 NOT NULL,
    reads    int2 NOT NULL, -- the newest format that it reads
    derives  int2 NOT NULL, -- see object.derived
    id       text NOT NULL,
    PRIMARY KEY (cluster, id)
) WITH (fillfactor = 50);
