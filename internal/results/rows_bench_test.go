// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// benchKinds are the kinds of reports in the data set.
var benchKinds = []engine.ReportKind{
	{Kind: "ClusterPolicyReport", Resource: "/wgpolicyk8s.io/clusterpolicyreports/"},
	{Kind: "ClusterReport", Resource: "/openreports.io/clusterreports/"},
	{Kind: "PolicyReport", Resource: "/wgpolicyk8s.io/policyreports/"},
	{Kind: "Report", Resource: "/openreports.io/reports/"},
}

func having(field engine.Field, operator engine.Operator, value string) *engine.Filter {
	return &engine.Filter{Operator: operator, Field: field, Values: []string{value}}
}

// benchFilters are questions for rows.
func benchFilters() map[string]*engine.Filter {
	fail, critical := engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSeverity, "critical")
	return map[string]*engine.Filter{
		"everything": nil, "fail": fail, "critical fail": engine.Both(fail, critical), "not pass": engine.Negate(engine.Equal(engine.FieldResult, "pass")),
		"warn": engine.Equal(engine.FieldResult, "warn"), "a policy": engine.Equal(engine.FieldPolicy, "disallow-host-path"),
		"a policy fail": engine.Both(fail, engine.Equal(engine.FieldPolicy, "disallow-host-path")),
		"a rare policy": engine.Equal(engine.FieldPolicy, "CVE-2026-0044"), "no such policy": engine.Equal(engine.FieldPolicy, "none"),
		"a kind of subjects": engine.Equal(engine.FieldSubjectKind, "Namespace"),
		"a kind fail":        engine.Both(fail, engine.Equal(engine.FieldSubjectKind, "DaemonSet")),
		"a subject":          engine.Equal(engine.FieldSubjectName, "app-30000"),
		"a report":           engine.Equal(engine.FieldReport, "trivy-app-00000"),
		"in no message":      having(engine.FieldMessage, engine.Contains, "nowhere to be found"),
		"a namespace":        engine.Equal(engine.FieldNamespace, "team-300"),
		"policy or kind": {Operator: engine.Any, Operands: []*engine.Filter{
			engine.Equal(engine.FieldPolicy, "CVE-2026-0044"), engine.Equal(engine.FieldSubjectKind, "Namespace"),
		}},
	}
}

// benchCounts are questions for numbers.
func benchCounts() map[string]engine.CountQuery {
	fail, namespace := engine.Equal(engine.FieldResult, "fail"), "team-300"
	return map[string]engine.CountQuery{
		"all":                            {},
		"result":                         {By: []engine.Field{engine.FieldResult}},
		"namespace and severity of fail": {By: []engine.Field{engine.FieldNamespace, engine.FieldSeverity}, Filter: fail},
		"policy with namespaces":         {By: []engine.Field{engine.FieldPolicy}, Namespaces: true},
		"policy with subjects":           {By: []engine.Field{engine.FieldPolicy}, Subjects: true},
		"policy of fail with subjects":   {By: []engine.Field{engine.FieldPolicy}, Subjects: true, Filter: fail},
		"kind of subjects":               {By: []engine.Field{engine.FieldSubjectKind}},
		"subject":                        {By: []engine.Field{engine.FieldSubjectName}, OrderBy: engine.OrderResults, Descending: true},
		"report":                         {By: []engine.Field{engine.FieldNamespace, engine.FieldReport}, OrderBy: engine.OrderResults, Descending: true},
		"source with times":              {By: []engine.Field{engine.FieldSource}, Times: true},
		"message of fail":                {By: []engine.Field{engine.FieldSource, engine.FieldTemplate}, Filter: fail},
		"message":                        {By: []engine.Field{engine.FieldTemplate}},
		"day":                            {By: []engine.Field{engine.FieldDay}},
		"property":                       {By: []engine.Field{engine.Property("artifact.repository")}},
		"subject with sources, bounded": {
			By: []engine.Field{engine.FieldSubjectName}, Sources: true, Having: []engine.Bound{{Of: engine.OrderSources, Operator: engine.AtLeast, Number: 2}},
		},
		"subject of a namespace": {By: []engine.Field{engine.FieldSubjectName}, Namespace: &namespace, Subjects: true},
	}
}

// BenchmarkRows loads 800,000 results into each engine, reads pages of 500 rows and counts, and logs medians of five.
// Then it measures creates alone, and while two ask for everything all the time.
//
//	DOCKET_BENCH_WORKLOADS=million go test ./internal/results -v -run '^$' -bench Rows -benchtime 1x -timeout 1h
func BenchmarkRows(b *testing.B) {
	workloads := benchSize(b)
	for _, db := range databases(b) {
		b.Run(db.name, func(b *testing.B) {
			e := db.open(b, "east")
			b.Cleanup(func() { _ = e.Close() })
			loadInto(b, e, "east", dataset{workloads: workloads, now: time.Now().UTC().Truncate(time.Second)})
			db.settle(b)
			created := int64(0)
			for b.Loop() {
				askEngine(b, e)
				for _, askers := range []int{0, 2} {
					b.Logf("| a create beside %d who ask | %s |", askers, createsBeside(b, e, askers, &created))
				}
			}
		})
	}
}

// loadInto stores the data set of a cluster.
func loadInto(b *testing.B, e engine.Engine, cluster string, data dataset) {
	b.Helper()
	var batch []engine.Op
	for it := range data.all() {
		if it.cluster != cluster {
			continue
		}
		if batch = append(batch, operation(b, it)); len(batch) == batchSize {
			commit(b, e, batch)
			batch = batch[:0]
		}
	}
	commit(b, e, batch)
}

// askEngine asks all questions, and logs how long that took.
func askEngine(b *testing.B, e engine.Questions) {
	b.Helper()
	filters, counts := benchFilters(), benchCounts()
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		b.Logf("| rows: %s | %s |", name, medianOf(b, func() error {
			_, err := e.Rows(b.Context(), engine.RowQuery{Kinds: benchKinds, Filter: filters[name], Limit: 500})
			return err
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		q := counts[name]
		q.Kinds, q.Limit = benchKinds, 500
		b.Logf("| count: %s | %s |", name, medianOf(b, func() error {
			_, err := e.Count(b.Context(), q)
			return err
		}))
	}
}

// medianOf does something five times.
func medianOf(b *testing.B, do func() error) time.Duration {
	b.Helper()
	var times []time.Duration
	for range 5 {
		start := time.Now()
		testkit.NoError(b, do())
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2].Round(time.Millisecond / 10)
}

// createsBeside returns the median of 100 creates, one after the other.
func createsBeside(b *testing.B, e enginetest.Engine, askers int, created *int64) time.Duration {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for ctx.Err() == nil {
				_, err := e.Count(ctx, engine.CountQuery{Kinds: benchKinds, By: []engine.Field{engine.FieldSubjectKind}, Subjects: true, Limit: 500})
				if err != nil && ctx.Err() == nil {
					b.Error(err)
					return
				}
			}
		})
	}
	var times []time.Duration
	for range 100 {
		*created++
		op := enginetest.Report(*created)
		start := time.Now()
		commit(b, e, []engine.Op{op})
		times = append(times, time.Since(start))
	}
	cancel()
	group.Wait()
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}
