// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/server/apiserver"
)

var writeFixtures = flag.Bool("write-fixtures", false, "write the databases of testdata anew")

// fixture is a database as a version of Docket left it, as SQL text. It is never rewritten for a version that is
// released: later ones must open it.
type fixture struct {
	path string
	// load makes a database of the text, and returns its URL and how to ask it.
	load func(t *testing.T, text string) (url string, db *sql.DB)
	// dump is the way back, for -write-fixtures.
	dump func(t *testing.T, url string, db *sql.DB) string
	// history says that it goes on where it was. SQLite's leaps: the file beside it, which is of its place, is missing.
	history bool
	// derived are the tables that are derived from objects.
	derived []string
}

func fixtures() map[string]fixture {
	return map[string]fixture{
		"SQLite": {
			path: "testdata/format1-sqlite.sql", load: loadSQLite, dump: dumpSQLite,
			// Index terms and their version are elsewhere now: package sqlite tests that.
			derived: []string{"report", "result", "verdict", "subject", "(SELECT cluster, resource, objects, bytes, results FROM total)"},
		},
		"PostgreSQL": {
			path: "testdata/format1-postgres.sql", load: loadPostgres, dump: dumpPostgres, history: true,
			derived: []string{"docket.term", "docket.report", "docket.result", "docket.verdict", "docket.subject", "docket.total"},
		},
	}
}

const fixtureObjects = "testdata/format1-objects.json"

// TestFixtures opens a database of each engine that the first version wrote, and lists, watches, selects and writes.
// Guarantee S13.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for name, f := range fixtures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *writeFixtures {
				f.write(t)
			}
			url, _ := f.open(t)
			s := startServer(t, url)
			checkReads(t, s)
			if f.history {
				checkHistory(t, s)
			}
			checkWatch(t, s)
		})
	}
}

// TestDerivationIsPinned: what this version derives from the objects of a fixture is what the fixture has. If it is
// meant to be more, derivation in internal/store/derivation.go has to rise, and then -write-fixtures.
func TestDerivationIsPinned(t *testing.T) {
	t.Parallel()
	if *writeFixtures {
		t.Skip("the fixtures are being written")
	}
	for name, f := range fixtures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := f.open(t)
			var want map[string][]string
			onReports(t, url, func(reports *apiserver.Reports) {
				want = contents(t, db, f.derived) // As the migrations since have it.
				if err := reports.Store.RebuildResults(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
			if diff := cmp.Diff(want, contents(t, db, f.derived)); diff != "" {
				t.Errorf("derived rows (-fixture +now):\n%s", diff)
			}
		})
	}
}

func (f fixture) open(t *testing.T) (url string, db *sql.DB) {
	t.Helper()
	text, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return f.load(t, string(text))
}

// write makes the fixture with this version.
func (f fixture) write(t *testing.T) {
	t.Helper()
	url, db := f.load(t, "")
	s := startServer(t, url)
	for _, name := range []string{"first", "second", "gone"} {
		if _, err := s.reports("fixture").Create(t.Context(), fixtureReport(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	changed, err := s.reports("fixture").Get(t.Context(), "second", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed.SetLabels(map[string]string{"team": "changed"})
	if _, err := s.reports("fixture").Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.reports("fixture").Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := os.WriteFile(f.path, []byte(f.dump(t, url, db)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fixtureReport(name string) *unstructured.Unstructured {
	results := make([]any, 0, 4)
	for _, outcome := range []string{"pass", "fail", "warn", "skip"} {
		results = append(results, map[string]any{
			"source": "kyverno", "policy": "require-" + name, "rule": "check", "result": outcome, "severity": "high",
			"message": "it's " + outcome + " — \"quoted\", 日本", "scored": true, "timestamp": map[string]any{"seconds": int64(1700000000), "nanos": int64(0)},
			"properties": map[string]any{"b": "2", "a": "1"},
			"resources":  []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "fixture", "name": "pod-" + outcome, "uid": "uid-" + outcome}},
		})
	}
	results = append(results, map[string]any{"policy": "scope-only", "result": "pass"})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport",
		"metadata": map[string]any{"name": name, "namespace": "fixture", "labels": map[string]any{"team": name, "empty": ""}},
		"scope":    map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "namespace": "fixture", "uid": "uid-of-" + name},
		"summary":  map[string]any{"pass": int64(2), "fail": int64(1), "warn": int64(1), "skip": int64(1), "error": int64(0)},
		"results":  results,
	}}
}

// checkReads compares what is listed and selected. The objects are those of all engines, but for what differs in
// each life of an object.
func checkReads(t *testing.T, s *testServer) {
	t.Helper()
	list, err := s.reports("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
			if _, there, _ := unstructured.NestedFieldNoCopy(list.Items[i].Object, "metadata", field); !there {
				t.Errorf("%s has no metadata.%s", list.Items[i].GetName(), field)
			}
			unstructured.RemoveNestedField(list.Items[i].Object, "metadata", field)
		}
	}
	got, err := json.MarshalIndent(list.Items, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *writeFixtures {
		if err := os.WriteFile(fixtureObjects, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(fixtureObjects)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ label, field, want string }{
		{"team=first", "", "first"}, {"team=changed", "", "second"}, {"team=second", "", ""}, {"empty", "", "first"},
		{"team in (first,changed)", "", "first second"}, {"", "scope.uid=uid-of-second", "second"}, {"team=first", "scope.uid=uid-of-second", ""},
	} {
		list, err := s.reports("").List(t.Context(), metav1.ListOptions{LabelSelector: c.label, FieldSelector: c.field})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(list), " "); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.label, c.field, got, c.want)
		}
	}
}

// checkHistory reads what happened while the fixture was made.
func checkHistory(t *testing.T, s *testServer) {
	t.Helper()
	stream, err := s.reports("fixture").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for _, want := range []string{
		"ADDED first team=first", "ADDED second team=second", "ADDED gone team=gone", "MODIFIED second team=changed", "DELETED gone team=gone",
	} {
		event := <-stream.ResultChan()
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("event %v, want %s", event, want)
		}
		if got := fmt.Sprintf("%s %s team=%s", event.Type, object.GetName(), object.GetLabels()["team"]); got != want {
			t.Errorf("event %s, want %s", got, want)
		}
	}
}

// checkWatch follows a change of an object of the fixture.
func checkWatch(t *testing.T, s *testServer) {
	t.Helper()
	list, err := s.reports("fixture").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.reports("fixture").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if err := s.reports("fixture").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-stream.ResultChan()
	object, ok := event.Object.(*unstructured.Unstructured)
	if event.Type != watch.Deleted || !ok || object.GetName() != "first" || object.GetLabels()["team"] != "first" {
		t.Errorf("event %s of %v, want that first was deleted", event.Type, event.Object)
	}
}

// contents returns the rows of tables, each as JSON, in an order of their own.
func contents(t *testing.T, db *sql.DB, tables []string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, table := range tables {
		found[table] = rowsOf(t, db, table)
	}
	return found
}

func loadPostgres(t *testing.T, text string) (string, *sql.DB) {
	t.Helper()
	url := testenv.Postgres(t).Database(t)
	db := openSQL(t, "pgx", url)
	if text != "" {
		// The history goes on where it was: not as that of a dump that was restored.
		text += "\nUPDATE docket.revision SET system_identifier = 0, relation = 0, timeline = 0;"
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return url, db
}

func loadSQLite(t *testing.T, text string) (string, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docket.db")
	db := openSQL(t, "sqlite", "file:"+path)
	if text != "" {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return "sqlite://" + path, db
}
