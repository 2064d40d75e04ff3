-- +goose Up

-- The version that an object's index terms and result rows were derived by.
ALTER TABLE docket.object ADD COLUMN derived int2 NOT NULL DEFAULT 0;

-- What is known of the derived rows of all objects of a resource.
ALTER TABLE docket.total
    ADD COLUMN complete int2 NOT NULL DEFAULT 0, -- all have this version at least
    ADD COLUMN building int2 NOT NULL DEFAULT 0, -- the newest that somebody makes or made complete
    ADD COLUMN highest  int2 NOT NULL DEFAULT 0, -- the newest that any has or had
    ADD COLUMN mark     int8 NOT NULL DEFAULT 0; -- revision of the last change by a version older than building
