// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// differences counts the rows in which the counters differ from a count of all results.
const differences = `
WITH counted AS (
	SELECT cluster, namespace, report_kind, source, policy, rule, category, severity, result, scored, count(*) AS results
	FROM policy_results GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
), kept AS (SELECT * FROM policy_namespace_counts)
SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept)) + (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted))
	+ abs((SELECT count(*) FROM counted) - (SELECT count(*) FROM kept))`

const isTallied = "SELECT tallied = revision FROM revision"

// TestTallyWrittenByHand: what is written without the counters leaves them behind. The view counts until the database
// is opened, which rebuilds them.
func TestTallyWrittenByHand(t *testing.T) {
	t.Parallel()
	options := sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}
	n := int64(0)
	for _, byHand := range [][]string{
		{}, // The first time.
		// A commit: it deletes a report.
		{
			"DELETE FROM report WHERE object = 2", "DELETE FROM result WHERE object = 2", "DELETE FROM object WHERE created = 2",
			"DELETE FROM event", "UPDATE revision SET revision = revision + 1, compacted = revision + 1",
		},
		// Rows derived again, which takes no revision.
		{
			"UPDATE object SET derived = derived WHERE created = 3",
			"UPDATE result SET verdict = (SELECT min(id) FROM verdict) WHERE object = 3 AND position < 5",
		},
	} {
		for _, statement := range byHand {
			sqlite.Exec(t, options.Path, statement)
		}
		if len(byHand) > 0 {
			if kept := count(t, options.Path, isTallied); kept != 0 {
				t.Errorf("%q: the counters are taken for kept", byHand)
			}
			if differ := count(t, options.Path, differences); differ != 0 {
				t.Errorf("%q: %d counters differ before the database is opened", byHand, differ)
			}
		}
		e := open(t, options)
		var ops []engine.Op
		for range 5 {
			n++
			ops = append(ops, enginetest.Report(n))
		}
		commit(t, e, ops)
		closeNow(t, e)
		if differ, kept := count(t, options.Path, differences), count(t, options.Path, isTallied); differ != 0 || kept != 1 {
			t.Errorf("%q: %d counters differ, kept=%d", byHand, differ, kept)
		}
	}
	sqlite.Exec(t, options.Path, "DELETE FROM tally") // What the test goes by does notice.
	if count(t, options.Path, differences) == 0 {
		t.Error("counters that are missing are not noticed")
	}
}

// TestTallyIsTidied: counters that are zero go, and outcomes that nothing refers to.
func TestTallyIsTidied(t *testing.T) {
	t.Parallel()
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"})
	op := enginetest.Report(1)
	revision := commit(t, e, []engine.Op{op}).Outcomes[0].Revision
	op.Kind, op.Expect = engine.Delete, revision
	commit(t, e, []engine.Op{op})
	for _, tidied := range []bool{false, true} {
		for _, table := range []string{"tally", "outcome"} {
			if n, err := e.CountRows(t.Context(), table); err != nil || (n == 0) != tidied {
				t.Errorf("%d rows in %s, %v; tidied=%t", n, table, err, tidied)
			}
		}
		testkit.NoError(t, e.Tidy(t.Context()))
	}
	op.Kind = engine.Create // Outcomes come again.
	commit(t, e, []engine.Op{op})
	if n, err := e.CountRows(t.Context(), "outcome"); err != nil || n != 17 {
		t.Errorf("%d outcomes, %v; want 17", n, err)
	}
}

// count opens a file that no engine has open and asks it.
func count(t *testing.T, path, query string) int64 {
	t.Helper()
	n, err := sqlite.Number(t.Context(), path, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
