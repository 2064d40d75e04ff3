// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPlans compares with testdata/plans.txt how each hot statement gets at its
// rows, on a database whose statistics say nothing. -update writes the file.
func TestPlans(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, err := Open(t.Context(), Options{URL: url, Cluster: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
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
		"commit, lock": lockCounterSQL, "commit": applyOpsSQL, "derive": deriveRowsSQL,
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
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), planSettings().statement()); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	names := make([]string, 0, len(statements))
	for name := range statements {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		// As removeFrom does.
		bitmaps := name == "tidy, idle verdicts" || name == "tidy, drop verdicts"
		if _, err := conn.Exec(t.Context(), fmt.Sprintf("SET enable_bitmapscan = %t", bitmaps)); err != nil {
			t.Fatal(err)
		}
		plan := explain(t, conn, name, statements[name])
		fmt.Fprintf(&got, "%s\n%s\n", name, scans(plan))
	}
	enginetest.Golden(t, filepath.Join("testdata", "plans.txt"), got.String(), *update)
}

// named numbers the parameters of a statement that names them.
func named(t *testing.T, sql string) string {
	t.Helper()
	numbered, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, sql, nil)
	if err != nil {
		t.Fatal(err)
	}
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
