// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

func reports(first, n int64) []engine.Op {
	ops := make([]engine.Op, n)
	for i := range ops {
		ops[i] = enginetest.Report(first + int64(i))
	}
	return ops
}

func commit(t testing.TB, e engine.Engine, ops []engine.Op) engine.Batch {
	t.Helper()
	batch := testkit.Must(enginetest.Commit(context.WithoutCancel(t.Context()), e, ops))(t)
	for i, outcome := range batch.Outcomes {
		if outcome.Revision == 0 {
			t.Fatalf("%s of %s did not apply", ops[i].Kind, ops[i].Key)
		}
	}
	return batch
}

func BenchmarkCommit(b *testing.B) {
	for _, mode := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal} {
		for _, size := range []int64{1, 16, 128} {
			b.Run(fmt.Sprintf("create/%s/ops=%d", mode, size), func(b *testing.B) {
				e := open(b, sqlite.Options{Path: filepath.Join(b.TempDir(), "docket.db"), Cluster: "main", Synchronous: mode})
				next := int64(0)
				for b.Loop() {
					b.StopTimer()
					ops := reports(next, size)
					next += size
					b.StartTimer()
					commit(b, e, ops)
				}
				b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "ops/s")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(next), "µs/op")
			})
		}
	}
	for _, keep := range []bool{true, false} {
		b.Run(fmt.Sprintf("update/FULL/ops=16/keepDerived=%v", keep), func(b *testing.B) { benchUpdate(b, keep) })
	}
}

// benchUpdate updates 16 of 4096 reports at a time; unless derived rows are kept,
// one of 17 results is another one than before.
func benchUpdate(b *testing.B, keep bool) {
	const objects, size = 4096, 16
	e := open(b, sqlite.Options{Path: filepath.Join(b.TempDir(), "docket.db"), Cluster: "main"})
	revisions := make([]engine.Revision, objects)
	for n := int64(0); n < objects; n += 256 {
		for i, outcome := range commit(b, e, reports(n, 256)).Outcomes {
			revisions[n+int64(i)] = outcome.Revision
		}
	}
	next := int64(0)
	for b.Loop() {
		b.StopTimer()
		first := next % objects
		ops := reports(first, size)
		for i := range ops {
			ops[i].Kind, ops[i].Expect, ops[i].KeepDerived = engine.Update, revisions[first+int64(i)], keep
			ops[i].Projection.Results[5].Seconds += 1 + next
		}
		next += size
		b.StartTimer()
		for i, outcome := range commit(b, e, ops).Outcomes {
			revisions[first+int64(i)] = outcome.Revision
		}
	}
	b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkRead reads from 100,000 reports.
func BenchmarkRead(b *testing.B) {
	const objects = 100_000
	path := filepath.Join(b.TempDir(), "docket.db")
	e := open(b, sqlite.Options{Path: path, Cluster: "main"})
	for n := int64(0); n < objects; n += 500 {
		commit(b, e, reports(n, 500))
	}
	ctx := b.Context()
	state := testkit.Must(e.State(ctx))(b)
	resource := enginetest.Report(0).Resource
	queries := []struct {
		name string
		q    engine.Query
	}{
		{"List/500", engine.Query{Limit: 500, After: "team-20/"}},
		{"List/500Count", engine.Query{Limit: 500, After: "team-20/", Count: true}},
		{"List/Prefix2500", engine.Query{Prefix: "team-07/"}},
		{"List/ConditionOne", engine.Query{Limit: 500, Conditions: []engine.Condition{{Name: enginetest.UIDTerm, Values: []int64{77_777}}}}},
		{"List/ConditionAll", engine.Query{Limit: 500, Conditions: []engine.Condition{{Name: enginetest.EngineTerm, Values: []int64{7}}}}},
		{"List/ConditionBoth", engine.Query{Limit: 500, Conditions: []engine.Condition{{Name: enginetest.EngineTerm}, {Name: enginetest.UIDTerm, Values: []int64{5}}}}},
		{"List/OldNear", engine.Query{Limit: 500, After: "team-20/", At: state.Revision - 1000}},
		{"List/OldFar", engine.Query{Limit: 500, After: "team-20/", At: state.Revision - 90_000}},
	}
	for _, c := range queries {
		c.q.Resource = resource
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if page, err := e.List(ctx, c.q); err != nil || len(page.Rows) == 0 {
					b.Fatal(len(page.Rows), err)
				}
			}
		})
	}
	b.Run("Get", func(b *testing.B) {
		key := enginetest.Report(5).Key
		for b.Loop() {
			if row, _, err := e.Get(ctx, resource, key); err != nil || row == nil {
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
	b.Run("Horizon", func(b *testing.B) {
		for b.Loop() {
			testkit.Must(e.Horizon(ctx, 1<<30, 1000))(b)
		}
	})
	usage := testkit.Must(e.Usage(ctx))(b)
	b.Logf("%d bytes a report, with its event", usage.DatabaseBytes/objects)
	testkit.NoError(b, e.Compact(ctx, state.Revision))
	reportSizes(b, e, objects)
}

// reportSizes prints where the bytes of a report are.
func reportSizes(b *testing.B, e *sqlite.Engine, objects int64) {
	sizes := testkit.Must(e.TableBytes(b.Context()))(b)
	sum := int64(0)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		sum += sizes[name]
		if sizes[name] > objects {
			b.Logf("%5d bytes a report in %s", sizes[name]/objects, name)
		}
	}
	b.Logf("%5d bytes a report in all, without events", sum/objects)
}

func BenchmarkBeside(b *testing.B) { enginetest.BenchmarkBeside(b, target) }
