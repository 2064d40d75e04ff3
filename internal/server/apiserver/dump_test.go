// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver pgx.
)

func openSQL(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	if driver == "pgx" { // Several statements at once, and nothing prepared while tables come and go.
		source += "&default_query_exec_mode=simple_protocol"
		if !strings.Contains(source, "?") {
			source = strings.Replace(source, "&", "?", 1)
		}
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ask returns the rows of a question of one column.
func ask(t *testing.T, db *sql.DB, question string) (answers []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), question)
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var answer string
		if err := rows.Scan(&answer); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// rowsOf returns the rows of a table as text, in order.
func rowsOf(t *testing.T, db *sql.DB, table string) (found []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		var row strings.Builder
		for i, column := range columns {
			fmt.Fprintf(&row, "%s=%v ", column, values[i])
		}
		found = append(found, row.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// dumpSQLite returns the statements that recreate the database.
func dumpSQLite(t *testing.T, _ string, db *sql.DB) string {
	t.Helper()
	lines := []string{"PRAGMA application_id = " + ask(t, db, "SELECT application_id FROM pragma_application_id")[0]}
	const made = "FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
	lines = append(lines, ask(t, db, "SELECT sql "+made+" AND type = 'table' ORDER BY name")...)
	for _, table := range ask(t, db, "SELECT name "+made+" AND type = 'table' ORDER BY name") {
		columns := ask(t, db, fmt.Sprintf("SELECT 'quote(' || name || ')' FROM pragma_table_info('%s') ORDER BY cid", table))
		lines = append(lines, ask(t, db, fmt.Sprintf("SELECT 'INSERT INTO %s VALUES (' || %s || ')' FROM %s",
			table, strings.Join(columns, " || ', ' || "), table))...)
	}
	lines = append(lines, ask(t, db, "SELECT sql "+made+" AND type <> 'table' ORDER BY type, name")...)
	return strings.Join(lines, ";\n") + ";\n"
}

// dumpPostgres returns the statements that recreate the schema.
func dumpPostgres(t *testing.T, url string, _ *sql.DB) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
		if len(found) == 0 {
			t.Fatal("pg_dump is neither in PATH nor where Debian has it")
		}
		program = found[len(found)-1]
	}
	out, err := exec.CommandContext(t.Context(), program, "--schema=docket", "--inserts", "--no-owner", "--no-privileges", "--no-comments", url).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "--") || strings.HasPrefix(line, `\`) || strings.TrimSpace(line) == ""
	})
	return strings.Join(lines, "\n") + "\n"
}
