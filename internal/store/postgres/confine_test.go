// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// insufficientPrivilege is PostgreSQL's code for what a role may not do, by rights or by
// row-level security.
const insufficientPrivilege = "42501"

// confining returns the statements of docs/operate/operations.md, for a cluster.
func confining(t *testing.T, cluster string) string {
	t.Helper()
	page := testkit.Must(os.ReadFile("../../../docs/operate/operations.md"))(t)
	_, section, found := strings.Cut(string(page), "\n## A role for each cluster\n")
	var statements strings.Builder
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if statement, ok := strings.CutPrefix(line, "    "); ok {
			statements.WriteString(strings.ReplaceAll(strings.ReplaceAll(statement, " PASSWORD '…'", ""), "east", cluster))
		}
	}
	if !found || statements.Len() == 0 {
		t.Fatal("docs/operate/operations.md: the statements that make roles were not found")
	}
	return statements.String()
}

// tables returns the tables of the schema, and the column of each that names the cluster.
func tables(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT c.relname, (SELECT attname FROM pg_attribute
			WHERE attrelid = c.oid AND attname = CASE c.relname WHEN 'cluster' THEN 'id' ELSE 'cluster' END)
		FROM pg_class AS c WHERE c.relnamespace = 'docket'::regnamespace AND c.relkind = 'r'
		AND c.relname NOT IN ('migration', 'resource')`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var name string
	var column *string
	testkit.Must(pgx.ForEachRow(rows, []any{&name, &column}, func() error {
		if column == nil {
			return fmt.Errorf("table %s has rows of no cluster: roles can't be kept apart in it", name)
		}
		found[name] = *column
		return nil
	}))(t)
	return found
}

// contents returns all rows of a cluster, by table.
func contents(t *testing.T, conn *pgx.Conn, tables map[string]string, cluster string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for table, column := range tables {
		var rows *string
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(`SELECT string_agg(t::text, E'\n' ORDER BY t::text) FROM docket.%s AS t
			WHERE %s = (SELECT id FROM docket.cluster WHERE name = $1)`, table, column), cluster).Scan(&rows); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if rows != nil {
			found[table] = *rows
		}
	}
	return found
}

func isRefused(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == insufficientPrivilege
}

// TestConfinedRoles: the server and the SQL reader of a cluster see and change nothing of
// another one. Guarantee S12.
func TestConfinedRoles(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t) // Roles belong to servers.
	owner := server.Database(t)
	testkit.NoError(t, open(t, owner, "first").Close())
	for _, cluster := range []string{"east", "west"} {
		execute(t, owner, confining(t, cluster))
	}
	as := func(role string) string { return edit(t, owner, func(u *url.URL) { u.User = url.User(role) }) }
	east, west := open(t, as("docket_east"), "east"), open(t, as("docket_west"), "west")
	for _, e := range []engine.Engine{east, west} {
		commit(t, e, []engine.Op{create("a"), create("b")})
		commit(t, e, []engine.Op{create("c")})
		if err := e.Tally(t.Context()); err != nil {
			t.Errorf("tally: %v", err)
		}
		if err := e.Tidy(t.Context()); err != nil {
			t.Errorf("tidy: %v", err)
		}
		if fleet, err := e.Beat(t.Context(), 1, 0); err != nil || fleet.Replicas != 1 {
			t.Errorf("beat: %+v, %v", fleet, err)
		}
	}
	admin := connect(t, owner)
	all := tables(t, admin)
	before := contents(t, admin, all, "west")
	for _, table := range []string{"cluster", "revision", "object", "event", "term", "report", "total", "verdict", "replica"} {
		if before[table] == "" {
			t.Errorf("there are no rows in %s: the test proves nothing about it", table)
		}
	}

	t.Run("server", func(t *testing.T) { checkConfinedServer(t, as("docket_east"), all) })
	t.Run("reader", func(t *testing.T) { checkConfinedReader(t, as("east_analyst")) })
	t.Run("questions", func(t *testing.T) { checkConfinedQuestions(t, east) })
	t.Run("unknown role", func(t *testing.T) {
		execute(t, owner, `CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA docket TO stranger; GRANT SELECT ON ALL TABLES IN SCHEMA docket TO stranger`)
		for table, rows := range contents(t, connect(t, as("stranger")), all, "east") {
			t.Errorf("%s shows a role that was not confined %s", table, rows)
		}
	})

	testkit.NoDiff(t, cmp.Diff(before, contents(t, admin, all, "west")), "the other cluster has changed (-before +after)")
	commit(t, west, []engine.Op{create("d")})
	execute(t, owner, strings.ReplaceAll(confining(t, "east"), "CREATE ROLE", "--")) // Again, as after an update.
	commit(t, east, []engine.Op{create("d")})
}

// checkConfinedQuestions: to the server of one cluster, the database has no other.
func checkConfinedQuestions(t *testing.T, east engine.Questions) {
	t.Helper()
	kinds := []engine.ReportKind{{Kind: "Report", Resource: "/reports/"}}
	clusters, err := east.Clusters(t.Context(), kinds)
	if err != nil || len(clusters) != 1 || clusters[0].Name != "east" || clusters[0].Servers != 1 {
		t.Errorf("clusters: %+v, %v", clusters, err)
	}
	for _, cluster := range []string{"west", "first"} {
		_, counted := east.Count(t.Context(), engine.CountQuery{Cluster: cluster, Kinds: kinds, Limit: 1})
		_, first := east.First(t.Context(), engine.OrderQuery{Cluster: cluster, Kinds: kinds, OrderBy: engine.FieldSeconds, Limit: 1})
		for _, err := range []error{counted, first} {
			if err == nil || !strings.Contains(err.Error(), "no cluster") {
				t.Errorf("results of %s: %v", cluster, err)
			}
		}
	}
}

func checkConfinedServer(t *testing.T, location string, tables map[string]string) {
	conn := connect(t, location)
	for table, column := range tables {
		const others = ` WHERE %[2]s <> (SELECT id FROM docket.cluster WHERE name = 'east')`
		var n int
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*) FROM docket.%[1]s`+others, table, column)).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d rows of another cluster, %v", table, n, err)
		}
		for _, statement := range []string{
			`DELETE FROM docket.%[1]s` + others, `UPDATE docket.%[1]s SET %[2]s = %[2]s` + others,
			`INSERT INTO docket.%[1]s SELECT (jsonb_populate_record(t, '{"%[2]s": 3}')).* FROM docket.%[1]s AS t LIMIT 1`, `TRUNCATE docket.%[1]s`,
			`ALTER TABLE docket.%[1]s DISABLE ROW LEVEL SECURITY`,
		} {
			tag, err := conn.Exec(t.Context(), fmt.Sprintf(statement, table, column))
			// What changes no row is as good as refused: an empty table has none to insert again.
			harmless := err == nil && strings.HasSuffix(tag.String(), " 0")
			if !harmless && !isRefused(err) {
				t.Errorf("%s: %v, %v", fmt.Sprintf(statement, table, column), tag, err)
			}
		}
	}
	for _, statement := range []string{
		`SELECT docket.confine('docket_east', 'west')`, `SET row_security = off; SELECT * FROM docket.object`, `SET ROLE docket_west`,
		`SELECT * FROM docket.policy_results`, `SELECT * FROM west_analyst.policy_results`,
	} {
		if _, err := conn.Exec(t.Context(), statement); !isRefused(err) {
			t.Errorf("%s: %v, want it to be refused", statement, err)
		}
	}
	if err := refused(t, postgres.Options{URL: location, Cluster: "west"}); !isRefused(err) {
		t.Errorf("open the other cluster: %v", err)
	}
}

func checkConfinedReader(t *testing.T, location string) {
	conn := connect(t, location)
	for view, column := range map[string]string{
		"policy_results": "cluster", "policy_report_summaries": "cluster", "policy_result_counts": "cluster",
		"policy_namespace_counts": "cluster", "clusters": "name",
	} {
		var clusters []string
		err := conn.QueryRow(t.Context(), fmt.Sprintf(`SELECT array_agg(DISTINCT %s) FROM %s`, column, view)).Scan(&clusters)
		if err != nil || !cmp.Equal(clusters, []string{"east"}) {
			t.Errorf("%s: clusters %q, %v", view, clusters, err)
		}
		for _, statement := range []string{
			`SELECT * FROM docket.` + view, `SELECT * FROM west_analyst.` + view, `DELETE FROM ` + view, `UPDATE ` + view + ` SET ` + column + ` = 'west'`,
		} {
			var other *pgconn.PgError
			// Only simple views can be written to, whatever the role.
			if _, err := conn.Exec(t.Context(), statement); !isRefused(err) && !(errors.As(err, &other) && other.Code == "55000") {
				t.Errorf("%s: %v, want it to be refused", statement, err)
			}
		}
	}
	for _, statement := range []string{`SELECT * FROM docket.report`, `SELECT docket.confine_reader('east_analyst', 'west')`} {
		if _, err := conn.Exec(t.Context(), statement); !isRefused(err) {
			t.Errorf("%s: %v, want it to be refused", statement, err)
		}
	}
}
