-- +goose Up

-- Questions about a namespace read its reports, and no longer those of all.
CREATE INDEX report_namespace ON docket.report (namespace, cluster);
