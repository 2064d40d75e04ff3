-- +goose Up

-- The Kubernetes cluster that uses the share: the UID of its namespace kube-system. Null
-- until a server says it.
ALTER TABLE cluster ADD COLUMN uid TEXT;
