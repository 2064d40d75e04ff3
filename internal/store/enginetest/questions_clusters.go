// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

func testQuestionsOfTwoClusters(t *testing.T, target Target) {
	open := target.New(t)
	other := session{t, open(t, "other")}
	ops := questioned()
	other.commit(ops...)
	other.commit(keyed(about(projection(2, 4), reports, "elsewhere/r")))
	if !target.Shared {
		if err := other.engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p := pair{session{t, open(t, cluster)}, session{t, NewModel(time.Now)}}
	p.ask(nil)
	p.commit(ops[:3]...)
	p.ask(nil)
	for _, field := range engine.Fields() {
		if field.IsNumber() {
			continue
		}
		for _, value := range valuesOf(ops, field) {
			p.ask(engine.Equal(field, value))
		}
		if field.Groups() {
			p.compareCounts(engine.CountQuery{Kinds: questionKinds, By: []engine.Field{field}, Limit: 100})
		}
	}
	p.askOf("other", append(ops, keyed(about(projection(2, 4), reports, "elsewhere/r"))))
}

// askOf asks the engine about another cluster of its database, which has the objects that ops create.
func (p pair) askOf(name string, ops []engine.Op) {
	p.Helper()
	want := session{p.TB, NewModel(time.Now)}
	want.commit(ops...)
	for _, filter := range []*engine.Filter{nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod")} {
		count := engine.CountQuery{
			Kinds: questionKinds, Filter: filter, By: []engine.Field{engine.FieldSource, engine.FieldPolicy}, Subjects: true, Namespaces: true, Limit: 1000,
		}
		order := engine.OrderQuery{Kinds: questionKinds, Filter: filter, OrderBy: engine.FieldSeverity, Limit: 1000}
		counts, rows := want.count(count), want.first(order)
		count.Cluster, order.Cluster = name, name
		p.same("counts of "+name, p.count(count).Counts, counts.Counts)
		p.same("first rows of "+name, p.first(order).Rows, rows.Rows)
	}
	counters := engine.CountQuery{Kinds: questionKinds, By: []engine.Field{engine.FieldPolicy}, Limit: 1000}
	counts := want.count(counters)
	counters.Cluster = name
	p.same("counters of "+name, p.count(counters).Counts, counts.Counts)
	for _, nowhere := range []string{"nowhere", "' OR 1 = 1 --", "\x00"} {
		counters.Cluster = nowhere
		if _, err := p.engine.Count(p.Context(), counters); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "no cluster") {
			p.Errorf("counts of the cluster %q: %v", nowhere, err)
		}
	}
	clusters, err := p.engine.Clusters(p.Context(), questionKinds)
	if err != nil || len(clusters) != 2 || clusters[0].Name != cluster || clusters[1].Name != name {
		p.Fatalf("clusters: %+v, %v", clusters, err)
	}
	other := clusters[1]
	results := want.count(engine.CountQuery{Kinds: questionKinds, Limit: 1}).Counts[0].Results
	if other.Reports != int64(len(ops)) || other.Results != results || other.FirstSeen.IsZero() || other.Changed.IsZero() || clusters[0].Servers > 1 {
		p.Errorf("%+v and %+v, want %d reports with %d results", clusters[0], other, len(ops), results)
	}
}
