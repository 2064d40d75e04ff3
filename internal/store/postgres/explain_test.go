// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

var (
	update        = flag.Bool("update", false, "write the golden files anew")
	plansDatabase = flag.String("plans-database", "", "URL of a database that test/fill filled: plans have to be the same there")
)

// TestPlans compares with testdata/plans.txt how each hot statement gets at its rows, on a database whose statistics
// say nothing, then that it is empty, or on that of -plans-database. -update writes the file.
func TestPlans(t *testing.T) {
	t.Parallel()
	url := *plansDatabase
	var e *Engine
	if url == "" {
		url = testenv.Postgres(t).Database(t)
		e = openCluster(t, url, "main")
	}
	shapes := map[string]listShape{
		"list":                        {},
		"list, counting":              {count: true},
		"list, whole":                 {count: true, whole: true},
		"list, one condition":         {conditions: 1},
		"list, any value":             {conditions: 1, anyValue: true},
		"list, conditions":            {conditions: 2},
		"list, any value, conditions": {conditions: 2, anyValue: true},
		"list, old, one condition":    {old: true, conditions: 1},
		"list, old":                   {old: true},
		"list, old, counting":         {old: true, count: true},
		"list, long ago":              {old: true, longAgo: true},
		"list, long ago, counting":    {old: true, longAgo: true, count: true},
		"list, long ago, conditions":  {old: true, longAgo: true, conditions: 2},
	}
	statements := map[string]string{
		"get": getSQL, "state": stateSQL, "stats": statsSQL, "usage": usageSQL, "expired": expiredSQL,
		"events": named(t, eventsSQL), "horizon": named(t, horizonSQL),
		"reach of values": named(t, reachOfValues), "reach of a name": named(t, reachOfName),
		"commit, lock": lockCounterSQL, "commit": applyOpsSQL.sql, "derive": deriveRowsSQL.sql,
		"compact, mark": markSQL, "compact, first": firstEventSQL, "compact, drop": dropEventsSQL,
		"derivation": derivationSQL, "begin derivation": beginDerivationSQL, "finish derivation": finishDerivationSQL,
		"underived": underivedSQL, "demands": demandsSQL, "beat": beatSQL, "leave": leaveSQL,
		"tidy, idle verdicts": idleVerdictsSQL, "tidy, drop verdicts": dropVerdictsSQL,
		"tidy, idle subjects": idleSubjectsSQL, "tidy, drop subjects": dropSubjectsSQL,
		"tally, state": tallyStateSQL, "tally, move": moveTallySQL, "tally, begin": beginTallySQL, "tally, drop": dropTallySQL,
		"tally, empty": dropEmptySQL, "tally, outcomes": dropOutcomesSQL,
		"tidy, next verdicts": nextVerdictsSQL, "tidy, next subjects": nextSubjectsSQL,
	}
	for name, shape := range shapes {
		statements[name] = named(t, shape.sql())
	}
	maps.Copy(statements, questionStatements())
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	testkit.Must(conn.Exec(t.Context(), planSettings().statement()))(t)
	want := plans(t, conn, statements)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		fmt.Fprintf(&text, "%s\n%s\n", name, want[name])
	}
	enginetest.Golden(t, filepath.Join("testdata", "plans.txt"), text.String(), *update)
	if *plansDatabase != "" {
		return
	}
	testkit.Must(conn.Exec(t.Context(), "VACUUM ANALYZE"))(t)
	grow(t, e, conn)
	maps.DeleteFunc(statements, func(name, _ string) bool { return strings.HasPrefix(name, "tidy") }) // Bitmaps will do, too.
	for name, got := range plans(t, conn, statements) {
		if got != want[name] {
			t.Errorf("after the tables grew the plan of %q is\n%swant\n%s", name, got, want[name])
		}
	}
}

// grow writes reports until the engine notices that tables are no longer empty.
func grow(t *testing.T, e *Engine, conn *pgx.Conn) {
	t.Helper()
	ops := make([]engine.Op, 300)
	for n := range ops {
		ops[n] = enginetest.Report(int64(n))
	}
	testkit.Must(e.Commit(t.Context(), ops))(t)
	// Sessions tell what they wrote once in a second.
	const noticed = `SELECT min(reltuples) > 0 FROM pg_class, pg_sleep(0.1) WHERE relnamespace = 'docket'::regnamespace
		AND relname IN ('event', 'object', 'report', 'subject', 'term', 'verdict')`
	for deadline, done := time.Now().Add(time.Minute), false; !done; {
		if time.Now().After(deadline) {
			t.Fatal("nobody looked at the tables")
		}
		testkit.NoError(t, errors.Join(e.Analyze(t.Context()), conn.QueryRow(t.Context(), noticed).Scan(&done)))
	}
}

// plans returns how each statement gets at its rows.
func plans(t *testing.T, conn *pgx.Conn, statements map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, sql := range statements {
		// As removeFrom does, and as the sessions of questions have it.
		bitmaps := name == "tidy, idle verdicts" || name == "tidy, drop verdicts" || name == "question, reports of verdicts"
		testkit.Must(conn.Exec(t.Context(), fmt.Sprintf("SET enable_bitmapscan = %t", bitmaps)))(t)
		all[name] = scans(explain(t, conn, name, sql))
	}
	testkit.NoError(t, conn.DeallocateAll(t.Context()))
	return all
}

// named numbers the parameters of a statement that names them.
func named(t *testing.T, sql string) string {
	t.Helper()
	numbered, _ := testkit.Must2(pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, sql, nil))(t)
	return numbered
}

// explain returns the generic plan of a statement.
func explain(t *testing.T, conn *pgx.Conn, name, sql string) string {
	t.Helper()
	prepared, err := conn.Prepare(t.Context(), name, sql)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, sql)
	}
	arguments := ""
	if n := len(prepared.ParamOIDs); n > 0 {
		arguments = "(" + strings.TrimSuffix(strings.Repeat("NULL,", n), ",") + ")"
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN (COSTS OFF) EXECUTE `+pgx.Identifier{name}.Sanitize()+arguments,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Join(lines, "\n")
}

var scan = regexp.MustCompile(`(Seq Scan|Bitmap Heap Scan|Index Scan|Index Scan Backward|Index Only Scan)( using \w+)? on (\w+)`)

// scans returns how a plan gets at tables: what is the same in all versions of
// PostgreSQL.
func scans(plan string) string {
	var found []string
	for _, match := range scan.FindAllString(plan, -1) {
		found = append(found, "    "+match+"\n")
	}
	for _, join := range []string{"Hash Join", "Merge Join", "Hash Left Join", "Merge Left Join"} {
		if strings.Contains(plan, join) {
			found = append(found, "    "+join+"\n")
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "")
}
