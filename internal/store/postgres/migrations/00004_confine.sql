-- +goose Up

-- Roles that have one cluster's share of the database and nothing else, for those who
-- want them: docs/operate/operations.md. Whoever owns the tables runs these functions.

-- Makes a cluster if there is none of this name, and returns its id.
-- +goose StatementBegin
CREATE FUNCTION docket.cluster_id(cluster_name text) RETURNS int4 LANGUAGE sql AS $$
    WITH made AS (
        INSERT INTO docket.cluster (name) VALUES (cluster_name) ON CONFLICT (name) DO NOTHING RETURNING id
    )
    INSERT INTO docket.revision (cluster, revision, compacted, incarnation, history_bytes, committed_at, tidied,
        system_identifier, timeline, relation)
    SELECT id, 1, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, 0, clock_timestamp(), 0, 0, 0, 0
    FROM made;
    SELECT id FROM docket.cluster WHERE name = cluster_name;
$$;
-- +goose StatementEnd

-- Lets a role serve one cluster: row-level security shows it no row of another one. From
-- then on every role but the owner of the tables needs this. The id is a constant in the
-- policies, so that they cost a comparison; what hides the column from the planner keeps
-- it from taking an index for the sake of the cluster alone.
-- +goose StatementBegin
CREATE FUNCTION docket.confine(server_role text, cluster_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own int4 := docket.cluster_id(cluster_name);
    target record;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA docket TO %I', server_role);
    EXECUTE format('GRANT SELECT ON docket.migration, docket.cluster, docket.resource TO %I', server_role);
    EXECUTE format('GRANT UPDATE (uid) ON docket.cluster TO %I', server_role);
    EXECUTE format('GRANT INSERT ON docket.resource TO %I', server_role);
    FOR target IN
        SELECT c.relname AS name, a.attname AS col
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'docket'::regnamespace AND c.relkind = 'r'
            AND a.attname = CASE c.relname WHEN 'cluster' THEN 'id' ELSE 'cluster' END
    LOOP
        EXECUTE format('ALTER TABLE docket.%I ENABLE ROW LEVEL SECURITY', target.name);
        EXECUTE format('DROP POLICY IF EXISTS %I ON docket.%I', server_role, target.name);
        EXECUTE format('CREATE POLICY %I ON docket.%I TO %I USING (%I + 0 = %s) WITH CHECK (%I = %s)',
            server_role, target.name, server_role, target.col, own, target.col, own);
        IF target.name <> 'cluster' THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON docket.%I TO %I', target.name, server_role);
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Lets a role read the views of docs/operate/sql.md, for one cluster. They are in a schema of the
-- role's name, where SQL finds them without a schema.
-- +goose StatementBegin
CREATE FUNCTION docket.confine_reader(reader text, cluster_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    view record;
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', reader);
    FOR view IN
        SELECT * FROM (VALUES ('policy_results', 'cluster'), ('policy_report_summaries', 'cluster'),
            ('policy_result_counts', 'cluster'), ('clusters', 'name')) AS v (name, col)
    LOOP
        EXECUTE format('CREATE OR REPLACE VIEW %I.%I WITH (security_barrier) AS SELECT * FROM docket.%I WHERE %I = %L',
            reader, view.name, view.name, view.col, cluster_name);
    END LOOP;
    EXECUTE format('CREATE OR REPLACE VIEW %I.sql_contract AS SELECT * FROM docket.sql_contract', reader);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', reader, reader);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', reader, reader);
END
$$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION docket.cluster_id(text), docket.confine(text, text), docket.confine_reader(text, text) FROM PUBLIC;
