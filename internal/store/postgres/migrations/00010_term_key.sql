-- +goose Up

-- Index terms get the key of their object, so that a list with a selector reads the index in the order of keys and stops
-- at its limit. A term that no other object had when it was written has an empty key instead: those of a value are few,
-- and read whole. The table is written anew, or half of it would be empty afterwards. Meanwhile nobody uses it: writes,
-- and lists with selectors, wait or fail.
LOCK TABLE docket.term IN ACCESS EXCLUSIVE MODE;
SET LOCAL work_mem = '64MB';
ALTER TABLE docket.term ADD COLUMN key text COLLATE "C";
CREATE UNLOGGED TABLE docket.term_moved AS
SELECT t.name, t.value, t.created, t.cluster, t.resource, CASE WHEN t.objects > 1 THEN o.key ELSE '' END AS key
FROM (SELECT *, count(*) OVER (PARTITION BY cluster, resource, name, value) AS objects FROM docket.term) AS t
JOIN docket.object AS o ON o.cluster = t.cluster AND o.created = t.created;
DROP INDEX docket.term_value;
DROP INDEX docket.term_object;
TRUNCATE docket.term;
INSERT INTO docket.term (name, value, created, cluster, resource, key)
SELECT name, value, created, cluster, resource, key FROM docket.term_moved ORDER BY created, cluster;
DROP TABLE docket.term_moved;
CREATE INDEX term_value ON docket.term (cluster, resource, name, value, key);
CREATE INDEX term_object ON docket.term (created, cluster);

-- Programs that know of no key leave it null. Why not before the insert: the object is written by the same statement,
-- after its terms.
-- +goose StatementBegin
CREATE FUNCTION docket.fill_term_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE docket.term AS t SET key = o.key FROM docket.object AS o
    WHERE t.cluster = NEW.cluster AND t.created = NEW.created AND t.key IS NULL
        AND o.cluster = NEW.cluster AND o.created = NEW.created;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER term_key AFTER INSERT ON docket.term
FOR EACH ROW WHEN (NEW.key IS NULL) EXECUTE FUNCTION docket.fill_term_key();
