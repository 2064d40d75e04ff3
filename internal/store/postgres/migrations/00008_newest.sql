-- +goose Up

-- A row that each commit changes leaves a version behind, which stays as long as some transaction of the server may
-- want it, and an index finds all versions. Where the version that counts is the last by generation, which rises now
-- and then, the index finds it first, however many there are. The expression keeps the primary keys out of it.
ALTER TABLE docket.revision ADD COLUMN generation int8 NOT NULL DEFAULT 0;
CREATE INDEX revision_newest ON docket.revision ((cluster + 0), generation);
ALTER TABLE docket.total ADD COLUMN generation int8 NOT NULL DEFAULT 0;
CREATE INDEX total_newest ON docket.total ((cluster + 0), resource, generation);
