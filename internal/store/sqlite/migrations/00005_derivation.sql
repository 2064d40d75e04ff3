-- +goose Up

-- The version that an object's index terms and result rows were derived by.
ALTER TABLE object ADD COLUMN derived INTEGER NOT NULL DEFAULT 0;

-- What is known of the derived rows of all objects of a resource: all have the version complete at least, building
-- is the newest that somebody makes or made complete, highest the newest that any has or had, and mark the revision
-- of the last change by a version older than building.
ALTER TABLE total ADD COLUMN complete INTEGER NOT NULL DEFAULT 0;
ALTER TABLE total ADD COLUMN building INTEGER NOT NULL DEFAULT 0;
ALTER TABLE total ADD COLUMN highest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE total ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
