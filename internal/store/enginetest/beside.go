// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// largeResults is the number of results of LargeReport.
const largeResults = 20_000

// LargeReport returns the creation of report n as a scanner would write it: each of its results has a verdict
// and a subject of its own, unless they are alike and about the report's scope.
func LargeReport(n int64, alike bool) engine.Op {
	op := Report(n)
	one := *op.Projection.Results[0].Verdict
	one.Message = strings.Repeat("a longer text ", 22)
	op.Projection.Results = nil
	for i := range largeResults {
		r := engine.Result{Index: int32(i), Verdict: &one, Seconds: op.Projection.CreatedAt}
		if !alike {
			own := one
			own.Message += fmt.Sprint(n, "/", i)
			name := fmt.Sprintf("web-%x-%05x", n, i)
			r.Verdict, r.Subject = &own, &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "team", Name: name, UID: name}
		}
		op.Projection.Results = append(op.Projection.Results, r)
	}
	return op
}

// BenchmarkBeside measures small reports, one after the other, while large ones are written all the time, and
// how many of those there were. Unless prepared, the large ones are written whole by their commit.
func BenchmarkBeside(b *testing.B, target Target) {
	for _, c := range []struct{ alike, prepared bool }{{true, false}, {true, true}, {false, false}, {false, true}} {
		b.Run(fmt.Sprintf("alike=%v/prepared=%v", c.alike, c.prepared), func(b *testing.B) {
			e := target.open(b)
			ctx, cancel := context.WithCancel(b.Context())
			var group sync.WaitGroup
			written := int64(0)
			group.Go(func() {
				for ctx.Err() == nil {
					op := LargeReport(-1-written, c.alike)
					commit := e.Commit
					if c.prepared {
						commit = func(ctx context.Context, ops []engine.Op) (engine.Batch, error) { return Commit(ctx, e, ops) }
					}
					batch, err := commit(ctx, []engine.Op{op})
					if ctx.Err() != nil {
						return
					}
					if err != nil || batch.Outcomes[0].Revision == 0 {
						b.Errorf("%s: %v, %v", op.Key, batch.Outcomes, err)
						return
					}
					written++
				}
			})
			var took []time.Duration
			for b.Loop() {
				op := Report(int64(len(took)))
				start := time.Now()
				if batch, err := e.Commit(b.Context(), []engine.Op{op}); err != nil || batch.Outcomes[0].Revision == 0 {
					b.Fatal(op.Key, batch.Outcomes, err)
				}
				took = append(took, time.Since(start))
			}
			elapsed := b.Elapsed()
			cancel()
			group.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
			b.ReportMetric(float64(written)/elapsed.Seconds(), "large/s")
		})
	}
}
