// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestFill reads what was filled as a server reads it.
func TestFill(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "filled.db")
	testkit.NoError(t, run(t.Context(), url, "default", content{objects: 200, namespaces: 10, unique: 50}))
	check(t, open(t, url), 20)
	if err := run(t.Context(), url, "default", content{objects: 1, namespaces: 1, copies: 2}); err == nil {
		t.Error("SQLite makes copies")
	}
}

// TestCopies reads copies as a server reads them, asks for them in SQL, and writes beside them.
func TestCopies(t *testing.T) {
	url := testenv.Postgres(t).Database(t)
	testkit.NoError(t, run(t.Context(), url, "default", content{objects: 200, namespaces: 10, unique: 50}))
	const indexes = "SELECT string_agg(indexdef, ';' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'docket'"
	before := ask[string](t, url, indexes)
	testkit.NoError(t, copyAll(t.Context(), url, "default", 4))
	check(t, open(t, url), 100)
	for question, want := range map[string]int{
		"SELECT count(*) FROM docket.object":                                                                          1000,
		"SELECT objects FROM docket.total WHERE objects > 0 AND results > 0":                                          1000,
		"SELECT count(*) FROM docket.policy_results":                                                                  17000,
		"SELECT sum(results)::bigint FROM docket.policy_namespace_counts":                                             17000,
		"SELECT count(DISTINCT (name, value)) FROM docket.term":                                                       2001,
		"SELECT count(*) FROM docket.object o JOIN docket.term t USING (created, cluster) WHERE t.key IN (o.key, '')": 3000,
		"SELECT count(*) FROM docket.report r JOIN docket.subject s ON s.id = r.scope JOIN docket.object o ON o.created = r.object AND o.key = r.namespace || '/' || r.name": 1000,
	} {
		if got := ask[int](t, url, question); got != want {
			t.Errorf("%s is %d, want %d", question, got, want)
		}
	}
	if after := ask[string](t, url, indexes); after != before {
		t.Errorf("the indexes are\n%s\nand were\n%s", after, before)
	}
	if err := run(t.Context(), url, "default", content{objects: 10, namespaces: 1}); err != nil {
		t.Errorf("write beside copies: %v", err)
	}
}

// ask returns the one value that a question has.
func ask[T any](t *testing.T, url, question string) (answer T) {
	t.Helper()
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), question).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return answer
}

// open opens a database as a server does.
func open(t *testing.T, url string) *apiserver.Reports {
	t.Helper()
	options := apiserver.NewStorageOptions()
	options.Database = url
	opened := testkit.Must(apiserver.OpenReports(t.Context(), options))(t)
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// check wants so many reports of 17 results in a namespace.
func check(t *testing.T, opened *apiserver.Reports, want int) {
	t.Helper()
	kind := testkit.Must(registry.KindOf(wgpolicy.Resource("policyreports")))(t)
	list := kind.NewList()
	testkit.NoError(t, opened.Storage()[kind.GroupResource()].Storage.Storage.GetList(t.Context(),
		"/wgpolicyk8s.io/policyreports/team-003/", storage.ListOptions{Predicate: storage.Everything, Recursive: true}, list))
	items := testkit.Must(meta.ExtractList(list))(t)
	if len(items) != want {
		t.Fatalf("a namespace has %d reports, want %d", len(items), want)
	}
	for _, item := range items {
		stored, ok := item.(interface {
			View() (report.Accessor, error)
		})
		if !ok {
			t.Fatalf("%v is no report", item)
		}
		if found := testkit.Must(stored.View())(t); len(found.GetResults()) != 17 {
			t.Fatalf("%v has other than 17 results", item)
		}
	}
}
