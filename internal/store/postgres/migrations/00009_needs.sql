-- +goose Up

-- The lowest revision that a process reads at; 0 for none.
ALTER TABLE docket.replica ADD COLUMN needs int8 NOT NULL DEFAULT 0;
