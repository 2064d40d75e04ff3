// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// absurd is what no producer should write, and any may.
func absurd() *openreports.Report {
	long := strings.Repeat("long ", 20_000)
	r := &openreports.Report{ObjectMeta: metav1.ObjectMeta{Namespace: "ns\x00", Name: "absurd", UID: "\xff"}}
	r.Summary = &report.Summary{
		Pass: new(int64(math.MaxInt64)), Fail: new(int64(math.MaxInt64)), Skip: new(int64(math.MinInt64)),
	}
	r.Scope = &report.ObjectReference{Name: long, UID: "u\x00"}
	r.Results = []report.Result{
		{Timestamp: &metav1.Timestamp{Seconds: math.MaxInt64, Nanos: math.MinInt32}},
		{Timestamp: &metav1.Timestamp{Seconds: math.MinInt64}},
		{Timestamp: &metav1.Timestamp{Seconds: minSeconds}, Severity: "\x00", Result: "\xfe"},
		{Timestamp: &metav1.Timestamp{Seconds: maxSeconds}},
		{
			Policy: long, Rule: "\x00'; --", Message: "\xed\xa0\x80", Source: new("\u202e"),
			Properties: map[string]string{"": "", "\x00": "\x00", "\xff": "\\u0000", `"`: long, "$.a[0]": "\U0010FFFF"},
			Resources:  []report.ObjectReference{{Kind: long}, {}, {Name: "x", Namespace: "\x00"}},
		},
	}
	return r
}

// TestViewsBearAnything: no report makes a commit or a later question fail.
func TestViewsBearAnything(t *testing.T) {
	t.Parallel()
	for _, db := range databases(t) {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			e := db.open(t, "odd")
			t.Cleanup(func() { _ = e.Close() })
			op := operation(t, item{cluster: "odd", resource: "/openreports.io/reports/", report: absurd()})
			op.Key = "ns/absurd"
			if op, want := op.Projection, 6; len(op.Results) != want {
				t.Fatalf("%d rows; want %d", len(op.Results), want)
			}
			outcome := testkit.Must(e.Commit(t.Context(), append(testOps(t), op)))(t)
			if last := outcome.Outcomes[len(outcome.Outcomes)-1]; last.Revision == 0 {
				t.Fatal("the absurd report was not created")
			}
			reader := db.connect(t)
			for _, view := range []string{"policy_results", "policy_report_summaries", "policy_result_counts", "policy_namespace_counts", "clusters"} {
				_, rows, err := ask(t.Context(), reader, "SELECT * FROM "+view)
				if err != nil || len(rows) == 0 {
					t.Errorf("%s: %d rows, %v", view, len(rows), err)
				}
			}
			for _, q := range questions(t) {
				if _, _, err := ask(t.Context(), reader, q.statement[db.name]); err != nil {
					t.Errorf("question %d: %v", q.number, err)
				}
			}
			_, got, err := ask(t.Context(), reader, `SELECT timestamp, subject_uid FROM policy_results
				WHERE report = 'absurd' AND subject_uid <> '' ORDER BY result_index`)
			want := [][]string{
				{"NULL", "u\uFFFD"}, {"NULL", "u\uFFFD"}, {"0001-01-01T00:00:00Z", "u\uFFFD"}, {"9999-12-31T23:59:59Z", "u\uFFFD"},
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, times (-want +got):\n%s", err, diff)
			}
		})
	}
}

// testOps is a report from the data set, to have ordinary rows beside the odd ones.
func testOps(t *testing.T) []engine.Op {
	t.Helper()
	for it := range (dataset{workloads: 1, now: time.Now()}).all() {
		return []engine.Op{operation(t, it)}
	}
	return nil
}

// TestPlans: the indexes that make questions fast are used, also in a database that
// nobody ever analyzed.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, db := range databases(t) {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			load(t, db, dataset{workloads: 400, now: time.Now()})
			reader := db.connect(t)
			for _, test := range []struct {
				where string
				// uses must, avoids must not be in the plan.
				sqliteUses, sqliteAvoids, postgresUses []string
			}{
				{
					where:        "subject_name = 'exporter-00016' AND subject_namespace = 'shop'",
					sqliteUses:   []string{"subject_name", "report_scope", "result_subject"},
					sqliteAvoids: []string{"SCAN result", "SCAN verdict"},
					postgresUses: []string{"subject_name"},
				},
				{
					where:        "subject_uid = '0b1e1d5a-east-4000-8000-000000000104'",
					sqliteUses:   []string{"subject_uid", "report_scope", "result_subject"},
					sqliteAvoids: []string{"SCAN result", "SCAN verdict"},
					postgresUses: []string{"subject_uid"},
				},
				{
					where:        "policy = 'require-labels' AND result = 'fail'",
					sqliteUses:   []string{"result_verdict (cluster=? AND verdict=?"},
					sqliteAvoids: []string{"SCAN result"},
				},
				{
					where:        "properties ->> 'score' = '9.9'",
					sqliteUses:   []string{"result_verdict (cluster=? AND verdict=?"},
					sqliteAvoids: []string{"SCAN result"},
				},
			} {
				uses, avoids := test.sqliteUses, test.sqliteAvoids
				if db.name == "postgresql" {
					uses, avoids = test.postgresUses, nil // Small tables are scanned, and rightly.
				}
				plan := explain(t, db, reader, "SELECT * FROM policy_results WHERE "+test.where)
				for _, part := range uses {
					if !strings.Contains(plan, part) {
						t.Errorf("%s: the plan does not use %s:\n%s", test.where, part, plan)
					}
				}
				for _, part := range avoids {
					if strings.Contains(plan, part) {
						t.Errorf("%s: the plan has %s:\n%s", test.where, part, plan)
					}
				}
			}
		})
	}
}

// TestReaderRole: the role reads views, not tables, and can't write.
func TestReaderRole(t *testing.T) {
	t.Parallel()
	location := testenv.Postgres(t).Database(t)
	e := testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: location, Cluster: "c"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	reader := connectPostgres(t, location, map[string]string{"role": "docket_reader"})
	for _, view := range []string{"policy_results", "policy_report_summaries", "policy_result_counts", "policy_namespace_counts", "clusters", "sql_contract"} {
		if _, err := reader.ExecContext(t.Context(), "SELECT * FROM docket."+view); err != nil {
			t.Errorf("%s: %v", view, err)
		}
	}
	for _, statement := range []string{
		"SELECT * FROM docket.object", "SELECT * FROM docket.event", "SELECT * FROM docket.result", "SELECT * FROM docket.verdict",
		"DELETE FROM docket.clusters", "INSERT INTO docket.cluster (name) VALUES ('x')", "CREATE TABLE docket.x ()",
	} {
		var refused *pgconn.PgError
		_, err := reader.ExecContext(t.Context(), statement)
		if !errors.As(err, &refused) || refused.Code != "42501" {
			t.Errorf("%s: %v; want insufficient_privilege", statement, err)
		}
	}
}

// TestMigrateWithoutRights: a user who may not create roles can migrate, and the
// statements of docs/operate/sql.md make good for it.
func TestMigrateWithoutRights(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t) // Roles belong to servers: a shared one has the role.
	location := server.Database(t)
	admin := testkit.Must(pgx.Connect(t.Context(), location))(t)
	t.Cleanup(func() { _ = admin.Close(t.Context()) })
	execute := func(statement string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	execute("CREATE ROLE modest LOGIN")
	execute("CREATE SCHEMA docket AUTHORIZATION modest")
	modest := testkit.Must(url.Parse(location))(t)
	modest.User = url.User("modest")
	e := testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: modest.String(), Cluster: "c"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	var roles int
	testkit.NoError(t, admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_roles WHERE rolname = 'docket_reader'").Scan(&roles))
	if roles != 0 {
		t.Fatal("there is a role docket_reader: the test proves nothing")
	}
	execute(remedy(t))
	execute("SET ROLE docket_reader")
	execute("SELECT * FROM docket.policy_results, docket.policy_report_summaries, docket.policy_result_counts, " +
		"docket.policy_namespace_counts, docket.clusters, docket.sql_contract")
}

// remedy returns the statements that docs/operate/sql.md has for an administrator.
func remedy(t *testing.T) string {
	t.Helper()
	page := testkit.Must(os.ReadFile("../../docs/operate/sql.md"))(t)
	const start, end = "    CREATE ROLE docket_reader NOLOGIN;", "TO docket_reader;\n\n"
	_, rest, found := strings.Cut(string(page), start)
	statements, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/operate/sql.md: the statements that make docket_reader were not found")
	}
	return fmt.Sprint(start, statements, end)
}
