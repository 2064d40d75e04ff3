// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// TestLongTransaction: while another session keeps a snapshot, what is read for the counter and the sums does not
// grow with the commits since.
func TestLongTransaction(t *testing.T) {
	t.Parallel()
	const commits, most = 700, 6
	url := testenv.Postgres(t).Database(t)
	e := openCluster(t, url, "main")
	committed(t, e, enginetest.Report(0))
	holder := testkit.Must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { _ = holder.Close(context.WithoutCancel(t.Context())) })
	testkit.Must(holder.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM docket.revision`))(t)
	for n := range commits {
		committed(t, e, enginetest.Report(int64(n+1)))
	}
	resource, ok := e.resources.id(enginetest.Report(0).Resource)
	if !ok {
		t.Fatal("the resource is not known")
	}
	for name, read := range map[string]struct {
		sql  string
		args []any
	}{
		"the state": {stateSQL, []any{e.cluster}},
		"the sums":  {statsSQL, []any{e.cluster, resource}},
		"the lock":  {lockCounterSQL, []any{e.cluster}},
	} {
		pages := pagesOf(t, e, read.sql, read.args...)
		t.Logf("%s: %d pages", name, pages)
		if pages > most {
			t.Errorf("%s: %d pages were read after %d commits, want at most %d", name, pages, commits, most)
		}
	}
}

// pagesOf is how many pages a statement reads.
func pagesOf(t *testing.T, e *Engine, sql string, args ...any) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	err := e.write(t.Context(), "explain", func(ctx context.Context, conn session) error {
		rows, err := conn.Query(ctx, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&plans}, func() error { return nil })
		return err
	})
	if err != nil || len(plans) != 1 {
		t.Fatal(fmt.Errorf("%d plans, %w", len(plans), err))
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
