-- +goose Up

-- The revisions that were left out when the server was failed over last: see docs/adr/0024-gap-after-failover.md.
ALTER TABLE docket.revision
    ADD COLUMN gap_after  int8 NOT NULL DEFAULT 0, -- the last one that the new server had; 0 is none
    ADD COLUMN gap_to     int8 NOT NULL DEFAULT 0, -- the first one that it gave out
    ADD COLUMN gap_before int8 NOT NULL DEFAULT 0; -- the incarnation before
