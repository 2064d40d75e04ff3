// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // The driver of PostgreSQL.
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
)

var update = flag.Bool("update", false, "write the golden file of what is derived")

// TestDerivationIsPinned: this version derives from reports the index terms and result rows of the golden files, when
// they are written and when they are rebuilt. If it is meant to derive more, derivation in internal/store/derivation.go
// has to rise, and then -update. Guarantee S13.
func TestDerivationIsPinned(t *testing.T) {
	t.Parallel()
	for engine, rows := range map[string]struct {
		driver, query string
		tables        []string
	}{
		"sqlite": {"sqlite", "SELECT * FROM %s ORDER BY 1, 2, 3, 4", []string{"term_key", "report", "result", "verdict", "subject", "outcome", "tally"}},
		// The key of a term depends on the earlier writes.
		"postgres": {"pgx", "SELECT (to_jsonb(t) - 'key')::text AS row FROM docket.%s t ORDER BY 1", []string{"term", "report", "result", "verdict", "subject", "outcome"}},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url := databases()[engine](t)
			db := testkit.Must(sql.Open(rows.driver, strings.Replace(url, "sqlite://", "file:", 1)))(t)
			t.Cleanup(func() { _ = db.Close() })
			dump := func() string {
				var out strings.Builder
				for _, table := range rows.tables {
					writeTable(t, db, table, fmt.Sprintf(rows.query, table), &out)
				}
				return out.String()
			}
			golden := "testdata/derived-" + engine + ".txt"
			onReports(t, url, func(reports *apiserver.Reports) {
				createPinned(t, reports)
				written := dump()
				if *update {
					testkit.NoError(t, os.WriteFile(golden, []byte(written), 0o600))
				}
				want := testkit.Must(os.ReadFile(golden))(t)
				testkit.NoDiff(t, cmp.Diff(string(want), written), "derived rows (-golden +now)")
				testkit.NoError(t, reports.Store.RebuildResults(t.Context(), nil))
				testkit.NoDiff(t, cmp.Diff(written, dump()), "rebuilt rows (-written +rebuilt)")
			})
		})
	}
}

// createPinned creates the two pinned reports.
func createPinned(t *testing.T, reports *apiserver.Reports) {
	t.Helper()
	for _, kind := range registry.Kinds() {
		if kind.Resource != policyReports.Resource {
			continue
		}
		for _, name := range []string{"first", "second"} {
			data := testkit.Must(json.Marshal(pinnedReport(name)))(t)
			object, _ := testkit.Must2(kind.Decode(data))(t)
			testkit.NoError(t, reports.Storage().Create(t.Context(), apiserver.Movable(kind), object))
		}
	}
}

// writeTable writes the rows of a table as text, as a query returns them.
func writeTable(t *testing.T, db *sql.DB, table, query string, out *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns := testkit.Must(rows.Columns())(t)
	// Whether a result is in an index yet depends on the time, and not on its object.
	late := slices.Index(columns, "late")
	fmt.Fprintln(out, table, strings.TrimSuffix(strings.Join(columns, " "), " late"))
	for rows.Next() {
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		testkit.NoError(t, rows.Scan(pointers...))
		if late >= 0 {
			values = slices.Delete(values, late, late+1)
		}
		row := testkit.Must(json.Marshal(values))(t)
		fmt.Fprintf(out, "  %s\n", row)
	}
	testkit.NoError(t, rows.Err())
}

func pinnedReport(name string) *unstructured.Unstructured {
	results := make([]any, 0, 5)
	for _, outcome := range []string{"pass", "fail", "warn", "skip"} {
		results = append(results, map[string]any{
			"source": "kyverno", "policy": "require-" + name, "rule": "check", "result": outcome, "severity": "high",
			"message": "it's " + outcome + " — \"quoted\", 日本", "scored": true, "timestamp": map[string]any{"seconds": int64(1700000000), "nanos": int64(0)},
			"properties": map[string]any{"b": "2", "a": "1"},
			"resources":  []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "team", "name": "pod-" + outcome, "uid": "uid-" + outcome}},
		})
	}
	results = append(results, map[string]any{"policy": "scope-only", "result": "pass", "message": name + " in team"})
	report := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport",
		"scope":   map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "namespace": "team", "uid": "uid-of-" + name},
		"summary": map[string]any{"pass": int64(2), "fail": int64(1), "warn": int64(1), "skip": int64(1), "error": int64(0)},
		"results": results,
	}}
	report.SetName(name)
	report.SetNamespace("team")
	report.SetUID(types.UID("uid-of-report-" + name))
	report.SetCreationTimestamp(metav1.Unix(1700000000, 0))
	report.SetLabels(map[string]string{"team": name, "empty": ""})
	return report
}
