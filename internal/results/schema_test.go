// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestSchemaPage: docs/develop/formats/schema.md has the tables and columns of both engines.
func TestSchemaPage(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir() + "/docket.db"
		e := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "c"}))(t)
		t.Cleanup(func() { _ = e.Close() })
		db := testkit.Must(sql.Open("sqlite", path))(t)
		t.Cleanup(func() { _ = db.Close() })
		compareSchema(t, sqliteType, db, `SELECT t.name || '.' || c.name, c.type
			FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
			WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'goose_db_version'`)
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		location := testenv.Postgres(t).Database(t)
		e := testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: location, Cluster: "c"}))(t)
		t.Cleanup(func() { _ = e.Close() })
		compareSchema(t, postgresType, connectPostgres(t, location, nil), `SELECT c.relname || '.' || a.attname, y.typname
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS y ON y.oid = a.atttypid
			WHERE c.relnamespace = 'docket'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
			AND c.relname <> 'migration'`)
	})
}

// sqliteType returns the type in SQLite of a type on the page, or "" if only PostgreSQL has the column.
func sqliteType(kind string) string {
	switch {
	case strings.HasSuffix(kind, "*"):
		return ""
	case kind == "text":
		return "TEXT"
	case kind == "bytea":
		return "BLOB"
	case strings.ToUpper(kind) == kind:
		return kind
	}
	return "INTEGER"
}

// postgresType returns the type in PostgreSQL of a type on the page, or "" if only SQLite has the column.
func postgresType(kind string) string {
	if strings.ToUpper(kind) == kind {
		return ""
	}
	return strings.TrimSuffix(kind, "*")
}

// compareSchema compares rows of column and type with the page's tables.
func compareSchema(t *testing.T, typeOf func(string) string, db *sql.DB, query string) {
	t.Helper()
	_, rows, err := ask(t.Context(), db, query)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, strings.Join(row, " "))
	}
	page := testkit.Must(os.ReadFile("../../docs/develop/formats/schema.md"))(t)
	var want []string
	table := ""
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(line, "###"); ok {
			table = strings.TrimSpace(name)
		}
		if strings.HasPrefix(line, "## ") {
			table = ""
		}
		cells := strings.Split(line, "|")
		if table == "" || len(cells) != 5 {
			continue
		}
		names, kind := strings.TrimSpace(cells[1]), typeOf(strings.TrimSpace(cells[2]))
		if names == "column" || strings.HasPrefix(names, "--") || kind == "" {
			continue
		}
		for name := range strings.SplitSeq(names, ", ") {
			want = append(want, table+"."+name+" "+kind)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	testkit.NoDiff(t, cmp.Diff(got, want), "docs/develop/formats/schema.md (-database +page)")
}
