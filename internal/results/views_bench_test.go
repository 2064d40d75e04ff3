// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// benchWorkloads gives a million results, two hundred thousand verdicts and fifty
// thousand subjects.
const benchWorkloads = 41_500

// BenchmarkQuestions loads a million results into each engine, asks the questions
// of docs/operate/sql.md, and logs the numbers of its table, and the plan of the slowest.
// Loading takes minutes, so that it needs DOCKET_BENCH_WORKLOADS: the number of workloads,
// or "million".
//
//	DOCKET_BENCH_WORKLOADS=million go test ./internal/results -v -run '^$' -bench Questions -benchtime 1x -timeout 1h
func BenchmarkQuestions(b *testing.B) {
	workloads := benchSize(b)
	for _, db := range databases(b) {
		b.Run(db.name, func(b *testing.B) {
			start := time.Now()
			load(b, db, dataset{workloads: workloads, now: time.Now().UTC().Truncate(time.Second)})
			loaded := time.Since(start)
			reader := db.connect(b)
			db.settle(b)
			describe(b, db, reader, loaded)
			askAll(b, db, reader)
		})
	}
}

// BenchmarkFilledQuestions asks the questions of docs/operate/sql.md on a database that test/fill filled:
//
//	DOCKET_BENCH_DATABASE=postgres://… go test ./internal/results -v -run '^$' -bench FilledQuestions -benchtime 1x -timeout 1h
func BenchmarkFilledQuestions(b *testing.B) {
	location := os.Getenv("DOCKET_BENCH_DATABASE")
	if location == "" {
		b.Skip("it needs DOCKET_BENCH_DATABASE, the URL of a filled database")
	}
	db := postgresAt(location)
	if path, ok := strings.CutPrefix(location, "sqlite://"); ok {
		db = sqliteAt(path)
	}
	askAll(b, db, db.connect(b))
}

// askAll asks each question, and logs how long that took and the plan of the slowest.
func askAll(b *testing.B, db database, reader *sql.DB) {
	b.Helper()
	before := stored(b, reader)
	var slowest time.Duration
	var slow question
	for b.Loop() {
		for _, q := range questions(b) {
			took := median(b, reader, q.statement[db.name])
			b.Logf("| %d | %s | %s |", q.number, q.title, took.Round(time.Millisecond/10))
			b.ReportMetric(float64(took.Milliseconds()), fmt.Sprintf("ms/q%d", q.number))
			if took > slowest {
				slowest, slow = took, q
			}
		}
	}
	b.Logf("slowest: %d. %s\n%s", slow.number, slow.title, explain(b, db, reader, slow.statement[db.name]))
	if after := stored(b, reader); before == "0" || after != before {
		b.Errorf("the database had %s results, and has %s: somebody else writes, or there is nothing to measure", before, after)
	}
}

// stored is the number of results, by the counters.
func stored(b *testing.B, reader *sql.DB) string {
	b.Helper()
	_, rows, err := ask(b.Context(), reader, "SELECT coalesce(sum(results), 0) FROM policy_result_counts")
	if err != nil {
		b.Fatal(err)
	}
	return rows[0][0]
}

func benchSize(b *testing.B) int {
	text := os.Getenv("DOCKET_BENCH_WORKLOADS")
	switch text {
	case "":
		return 500
	case "million":
		return benchWorkloads
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("DOCKET_BENCH_WORKLOADS is %q: give a number, or million", text)
	}
	return n
}

func describe(b *testing.B, db database, reader *sql.DB, loaded time.Duration) {
	b.Helper()
	version := map[string]string{"sqlite": "SELECT sqlite_version()", "postgresql": "SHOW server_version"}[db.name]
	for _, statement := range []string{
		version,
		"SELECT count(*) FROM policy_results",
		"SELECT count(*) FROM policy_report_summaries",
		"SELECT count(*) FROM policy_result_counts",
	} {
		_, rows, err := ask(b.Context(), reader, statement)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %s", statement, rows[0][0])
	}
	b.Logf("loaded in %s", loaded.Round(time.Second))
}

// median asks five times.
func median(b *testing.B, reader *sql.DB, statement string) time.Duration {
	b.Helper()
	var times []time.Duration
	for range 5 {
		start := time.Now()
		if _, _, err := ask(b.Context(), reader, statement); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// explain returns the plan of a statement.
func explain(t testing.TB, db database, reader *sql.DB, statement string) string {
	t.Helper()
	_, rows, err := ask(t.Context(), reader, db.explain+statement)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	depth := map[string]int{"0": 0}
	for _, row := range rows {
		if len(row) == 4 { // SQLite: id, parent, unused, text.
			depth[row[0]] = depth[row[1]] + 1
			plan.WriteString(strings.Repeat("  ", depth[row[1]]))
		}
		plan.WriteString(row[len(row)-1] + "\n")
	}
	return plan.String()
}
