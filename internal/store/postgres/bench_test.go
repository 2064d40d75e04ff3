// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
)

// next numbers the reports of this process.
var next atomic.Int64 // Shared by the replicas of a benchmark.

func benchOps(n int) []engine.Op {
	ops := make([]engine.Op, n)
	for i := range ops {
		ops[i] = enginetest.Report(next.Add(1))
	}
	return ops
}

func BenchmarkCommit(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		for _, size := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("replicas=%d/ops=%d", replicas, size), func(b *testing.B) {
				url := testenv.Postgres(b).Database(b)
				engines := make([]*postgres.Engine, replicas)
				for i := range engines {
					engines[i] = open(b, url, "main")
					commit(b, engines[i], benchOps(size))
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				batches := make([][]engine.Op, b.N)
				for i := range batches {
					batches[i] = benchOps(size)
				}
				before := cpuTimes(b, url)
				b.ResetTimer()
				var group sync.WaitGroup
				for _, e := range engines {
					group.Go(func() {
						for n := left.Add(-1); n >= 0; n = left.Add(-1) {
							commit(b, e, batches[n])
						}
					})
				}
				group.Wait()
				b.StopTimer()
				after := cpuTimes(b, url)
				ops := float64(b.N * size)
				b.ReportMetric(ops/b.Elapsed().Seconds(), "ops/s")
				b.ReportMetric(float64((after.server-before.server).Microseconds())/ops, "server-cpu-µs/op")
				b.ReportMetric(float64((after.client-before.client).Microseconds())/ops, "client-cpu-µs/op")
			})
		}
	}
}

// cpu is processor time, which says more than the clock on a busy machine.
type cpu struct{ server, client time.Duration }

// cpuTimes returns what the sessions of a database and this process have used.
func cpuTimes(b *testing.B, url string) cpu {
	b.Helper()
	var own syscall.Rusage
	testkit.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	used := cpu{client: time.Duration(own.Utime.Nano() + own.Stime.Nano())}
	conn := testkit.Must(pgx.Connect(b.Context(), url))(b)
	defer func() { _ = conn.Close(context.WithoutCancel(b.Context())) }()
	rows, err := conn.Query(b.Context(), `SELECT pid FROM pg_stat_activity
		WHERE datname = current_database() AND application_name LIKE 'docket%'`)
	if err != nil {
		b.Fatal(err)
	}
	pids := testkit.Must(pgx.CollectRows(rows, pgx.RowTo[int]))(b)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // Not Linux, or gone.
		}
		var nanoseconds int64
		testkit.Must(fmt.Sscan(string(stat), &nanoseconds))(b)
		used.server += time.Duration(nanoseconds)
	}
	return used
}

func commit(t testing.TB, e engine.Engine, ops []engine.Op) engine.Batch {
	t.Helper()
	batch, err := enginetest.Commit(context.WithoutCancel(t.Context()), e, ops)
	if err != nil {
		t.Errorf("commit: %v", err)
		return batch
	}
	for i, outcome := range batch.Outcomes {
		if outcome.Revision == 0 {
			t.Errorf("%s of %s did not apply: current row %v", ops[i].Kind, ops[i].Key, outcome.Current)
		}
	}
	return batch
}

// BenchmarkRead reads from 100,000 reports that were loaded just now: no ANALYZE
// has been run.
func BenchmarkRead(b *testing.B) {
	const objects = 100_000
	url := testenv.Postgres(b).Database(b)
	e := open(b, url, "main")
	first := next.Load() + 1
	for range objects / 500 {
		commit(b, e, benchOps(500))
	}
	ctx := b.Context()
	state := testkit.Must(e.State(ctx))(b)
	queries := map[string]engine.Query{
		"List/500":            {Limit: 500, After: "team-20/"},
		"List/500Count":       {Limit: 500, After: "team-20/", Count: true},
		"List/Prefix":         {Prefix: "team-07/"},
		"List/ConditionOne":   {Limit: 500, Conditions: []engine.Condition{{Name: enginetest.UIDTerm, Values: []int64{first + 77_777}}}},
		"List/ConditionMany":  {Limit: 500, Conditions: []engine.Condition{{Name: enginetest.EngineTerm, Values: []int64{7}}}},
		"List/ConditionsBoth": {Limit: 500, Conditions: []engine.Condition{{Name: enginetest.EngineTerm}, {Name: enginetest.UIDTerm, Values: []int64{first + 5}}}},
		"List/OldNear":        {Limit: 500, After: "team-20/", At: state.Revision - 1000},
		"List/OldFar":         {Limit: 500, After: "team-20/", At: state.Revision - 90_000},
	}
	for name, q := range queries {
		q.Resource = reports
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page, err := e.List(ctx, q); err != nil || len(page.Rows) == 0 {
					b.Fatal(len(page.Rows), err)
				}
			}
		})
	}
	b.Run("Get", func(b *testing.B) {
		key := enginetest.Report(first + 5).Key
		for b.Loop() {
			row, _, err := e.Get(ctx, reports, key)
			if err != nil || row == nil || bytes.Equal(row.Data, nil) {
				b.Fatal(row, err)
			}
		}
	})
	b.Run("Events/100", func(b *testing.B) {
		for b.Loop() {
			if events, _, err := e.Events(ctx, state.Revision-5000, 100); err != nil || len(events) != 100 {
				b.Fatal(len(events), err)
			}
		}
	})
	b.Run("State", func(b *testing.B) {
		for b.Loop() {
			testkit.Must(e.State(ctx))(b)
		}
	})
}

func BenchmarkBeside(b *testing.B) {
	enginetest.BenchmarkBeside(b, enginetest.Target{New: func(t testing.TB) enginetest.Open {
		url := testenv.Postgres(t).Database(t)
		return func(t testing.TB, cluster string) enginetest.Engine { return open(t, url, cluster) }
	}})
}

// BenchmarkPooled measures a read and commits with and without a PgBouncer that shares sessions.
func BenchmarkPooled(b *testing.B) {
	for _, pooled := range []bool{false, true} {
		url := testenv.Postgres(b).Database(b)
		if pooled {
			url = testenv.NewBouncer(b, url, "transaction", 10).URL(b, url)
		}
		e := open(b, url, "main")
		first := benchOps(1)[0]
		commit(b, e, []engine.Op{first})
		b.Run(fmt.Sprintf("pooled=%v/get", pooled), func(b *testing.B) {
			for b.Loop() {
				if row, _, err := e.Get(b.Context(), first.Resource, first.Key); err != nil || row == nil {
					b.Fatal(row, err)
				}
			}
		})
		for _, size := range []int{1, 128} {
			b.Run(fmt.Sprintf("pooled=%v/ops=%d", pooled, size), func(b *testing.B) {
				for b.Loop() {
					commit(b, e, benchOps(size))
				}
			})
		}
	}
}
