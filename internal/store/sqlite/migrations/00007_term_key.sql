-- +goose Up

-- Index terms with the keys of their objects, so that a list reads those of a term in the order of keys.
CREATE TABLE term_key (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    term     INTEGER NOT NULL, -- 24 bits of the name's hash, then 40 of the value's
    key      TEXT    NOT NULL, -- object.key
    PRIMARY KEY (cluster, resource, term, key)
) STRICT, WITHOUT ROWID;

-- The terms of the object in term_key, 8 bytes each; null for none.
ALTER TABLE object ADD COLUMN terms BLOB;

-- Table term is left to programs that don't know term_key. What they wrote is taken over in adopt.go.
DROP INDEX object_created;
