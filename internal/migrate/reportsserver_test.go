// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// Clusters in the tables.
const (
	ours   = "0a8f3d5e-0000-4000-8000-000000000001"
	theirs = "0a8f3d5e-0000-4000-8000-000000000002"
)

// tables makes the tables of reports-server, as its present and its earlier versions
// have them.
func tables(t *testing.T, withCluster bool) (url string, conn *pgx.Conn) {
	t.Helper()
	url = testenv.Postgres(t).Database(t)
	conn = testkit.Must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // Its server ends with the test process.
	cluster, key := "", ""
	if withCluster {
		cluster, key = ", cluster_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'", "cluster_id, "
	}
	for _, kind := range []string{"policyreports", "reports", "ephemeralreports"} {
		run(t, conn, fmt.Sprintf("CREATE TABLE %s (name varchar NOT NULL, namespace varchar NOT NULL, report jsonb NOT NULL%s, PRIMARY KEY (%sname, namespace))", kind, cluster, key))
		run(t, conn, fmt.Sprintf("CREATE TABLE cluster%s (name varchar NOT NULL, report jsonb NOT NULL%s, PRIMARY KEY (%sname))", kind, cluster, key))
	}
	return url, conn
}

func run(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// insert writes the i-th report into its table, in the form of reports-server, and
// returns what Docket should have.
func insert(t *testing.T, conn *pgx.Conn, i int, cluster string) (key, content string) {
	t.Helper()
	kind, object := made(t, i)
	want := testkit.Must(json.Marshal(object))(t)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[servedBy] = "reports-server"
	object.SetAnnotations(annotations)
	object.SetResourceVersion("7") // It gives several reports the same one.
	data := testkit.Must(json.Marshal(object))(t)
	columns, values, args := "name, report", "$1, $2", []any{object.GetName(), string(data)}
	if kind.Namespaced {
		columns, values, args = columns+", namespace", values+", $3", append(args, object.GetNamespace())
	}
	if cluster != "" {
		columns, values = columns+", cluster_id", fmt.Sprintf("%s, $%d", values, len(args)+1)
		args = append(args, cluster)
	}
	run(t, conn, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", kind.Resource, columns, values), args...)
	e := entry{namespace: object.GetNamespace(), name: object.GetName()}
	return kind.Resource + " " + e.key(), string(want)
}

func TestReportsServer(t *testing.T) {
	t.Parallel()
	for name, cluster := range map[string]string{"several clusters": ours, "before there were clusters": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, conn := tables(t, cluster != "")
			want := map[string]string{}
			for i := range 60 {
				key, content := insert(t, conn, i, cluster)
				want[key] = content
			}
			if cluster != "" {
				insert(t, conn, 60, theirs)
			}
			place := opened(t, databases(t)["sqlite"])
			migration := ReportsServer{Copy: copyAll(), URL: url}
			if cluster != "" {
				err := migration.ToDatabase(t.Context(), place)
				if err == nil || !strings.Contains(err.Error(), theirs) || !strings.Contains(err.Error(), "--source-cluster") {
					t.Errorf("without a choice of the cluster: %v", err)
				}
				migration.Cluster = cluster
			}
			for range 2 { // Again is no different.
				testkit.NoError(t, migration.ToDatabase(t.Context(), place))
				if diff := cmp.Diff(want, contents(t, place)); diff != "" {
					t.Fatalf("(-want +got):\n%.3000s", diff)
				}
			}
		})
	}
}

// TestReportsServerWithoutUID: what was written without a UID gets one, and keeps it.
func TestReportsServerWithoutUID(t *testing.T) {
	t.Parallel()
	url, conn := tables(t, true)
	run(t, conn, "INSERT INTO policyreports (name, namespace, report, cluster_id) VALUES ('a', 'ns', $1, $2)",
		`{"metadata":{"name":"a","labels":{"x":"y"}},"summary":{"pass":1}}`, ours)
	place := opened(t, databases(t)["sqlite"])
	var out bytes.Buffer
	migration := ReportsServer{Copy: copyAll(), URL: url}
	migration.Out = &out
	testkit.NoError(t, migration.ToDatabase(t.Context(), place))
	first := contents(t, place)["policyreports ns/a"]
	if !strings.Contains(out.String(), "1 objects had no UID") || !strings.Contains(first, `"uid":"`) {
		t.Errorf("%s\n%s", out.String(), first)
	}
	testkit.NoError(t, migration.ToDatabase(t.Context(), place))
	if again := contents(t, place)["policyreports ns/a"]; again != first {
		t.Errorf("the second time it became %s, it was %s", again, first)
	}
}

func TestReportsServerRefuses(t *testing.T) {
	t.Parallel()
	place := opened(t, databases(t)["sqlite"])
	err := ReportsServer{Copy: copyAll(), URL: testenv.Postgres(t).Database(t)}.ToDatabase(t.Context(), place)
	if err == nil || !strings.Contains(err.Error(), "has no table of reports-server") {
		t.Errorf("a database without tables: %v", err)
	}
}
