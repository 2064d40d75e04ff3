-- +goose Up

-- What a program must be able to read and write to use a cluster.
ALTER TABLE revision ADD COLUMN min_reader INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revision ADD COLUMN min_writer INTEGER NOT NULL DEFAULT 0;
