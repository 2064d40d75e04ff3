// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// termKeys returns the keys in the terms of all objects: name=value object key, the last of which is - for none.
func termKeys(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT format('%s=%s %s %s', t.name, t.value, o.key, coalesce(nullif(t.key, ''), '-'))
		FROM docket.term AS t LEFT JOIN docket.object AS o USING (cluster, created) ORDER BY t.name, t.value, o.key`)
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

// selected returns the keys of objects with a term.
func selected(t *testing.T, e engine.Engine, name int64, values ...int64) string {
	t.Helper()
	page := testkit.Must(e.List(t.Context(), engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: name, Values: values}}}))(t)
	keys := make([]string, 0, len(page.Rows))
	for _, row := range page.Rows {
		keys = append(keys, row.Key)
	}
	return strings.Join(keys, " ")
}

func withTerms(op engine.Op, values ...int64) engine.Op {
	op.Index = nil
	for i, value := range values {
		op.Index = append(op.Index, engine.Term{Name: int64(i + 1), Value: value})
	}
	return op
}

// TestTermsOfOneHaveNoKey: a term has its object's key, unless no other object had it when it was written.
func TestTermsOfOneHaveNoKey(t *testing.T) {
	t.Parallel()
	databaseURL := testenv.Postgres(t).Database(t)
	e, conn := open(t, databaseURL, "main"), connect(t, databaseURL)
	commit(t, e, []engine.Op{withTerms(create("b"), 7, 1), withTerms(create("a"), 7, 2)})
	commit(t, e, []engine.Op{withTerms(create("d"), 7, 3), withTerms(create("c"), 7, 2)})
	want := []string{"1=7 a -", "1=7 b -", "1=7 c c", "1=7 d d", "2=1 b -", "2=2 a -", "2=2 c c", "2=3 d -"}
	testkit.NoDiff(t, cmp.Diff(want, termKeys(t, conn)), "terms after creations (-want +got)")
	update := withTerms(create("b"), 7, 1)
	update.Kind, update.Expect = engine.Update, 2
	commit(t, e, []engine.Op{update})
	derived := withTerms(create("d"), 7, 3)
	testkit.NoError(t, e.Derive(t.Context(), []engine.Derived{{Resource: reports, Key: "d", Revision: 4, Index: derived.Index}}))
	want[1] = "1=7 b b"
	testkit.NoDiff(t, cmp.Diff(want, termKeys(t, conn)), "terms after an update (-want +got)")
	if got, want := selected(t, e, 1, 7), "a b c d"; got != want {
		t.Errorf("selected %q, want %q", got, want)
	}
}
