// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// questionKinds are the kinds of reports in tests, with the resources that have them.
var questionKinds = []engine.ReportKind{{Kind: "PolicyReport", Resource: reports}, {Kind: "Report", Resource: reportsX}}

// keyed returns the creation of the report that a projection is of.
func keyed(p *engine.Projection) engine.Op {
	op := engine.Op{Kind: engine.Create, Resource: reports, Value: value("{}"), Projection: p}
	for _, kind := range questionKinds {
		if kind.Kind == p.Kind {
			op.Resource = kind.Resource
		}
	}
	if op.Key = p.Name; p.Namespace != "" {
		op.Key = p.Namespace + "/" + p.Name
	}
	return op
}

// about names a report after its key, as all reports are.
func about(p *engine.Projection, resource engine.Resource, key string) *engine.Projection {
	if p == nil {
		return nil
	}
	named := *p
	named.Namespace, named.Name = "", key
	if namespace, name, found := strings.Cut(key, "/"); found {
		named.Namespace, named.Name = namespace, name
	}
	for _, kind := range questionKinds {
		if kind.Resource == resource {
			named.Kind = kind.Kind
		}
	}
	return &named
}

// compareRows asks both for rows.
func (p pair) compareRows(q engine.RowQuery) {
	p.Helper()
	got, want := p.rows(q), p.model.rows(q)
	p.same(fmt.Sprintf("rows of %s", describe(q.Filter)), got.Rows, want.Rows)
	if want.More && !got.More || got.More && len(got.Rows) < q.Limit {
		p.Fatalf("%d rows of %s with limit %d say that there are more: %t, want %t", len(got.Rows), describe(q.Filter), q.Limit, got.More, want.More)
	}
	p.same("state", got.State, want.State)
}

func (s session) rows(q engine.RowQuery) engine.RowPage {
	s.Helper()
	page, err := s.engine.Rows(s.Context(), q)
	if err != nil {
		s.Fatalf("rows of %s: %v", describe(q.Filter), err)
	}
	return page
}

// compareCounts asks both for counts.
func (p pair) compareCounts(q engine.CountQuery) {
	p.Helper()
	p.same(fmt.Sprintf("counts by %v of %s", q.By, describe(q.Filter)), p.count(q), p.model.count(q))
}

func (s session) count(q engine.CountQuery) engine.Counts {
	s.Helper()
	counts, err := s.engine.Count(s.Context(), q)
	if err != nil {
		s.Fatalf("counts by %v of %s: %v", q.By, describe(q.Filter), err)
	}
	return counts
}

// ask compares rows and counts that a filter selects.
func (p pair) ask(f *engine.Filter) {
	p.Helper()
	p.compareRows(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: 1000})
	p.compareCounts(engine.CountQuery{
		Kinds: questionKinds, Filter: f, By: []engine.Field{engine.FieldReportKind}, Limit: 1000,
		Namespaces: true, Subjects: !f.Counted(), Times: !f.Counted(),
	})
}

// describe writes a filter for people.
func describe(f *engine.Filter) string {
	if f == nil {
		return "everything"
	}
	var operands []string
	for _, operand := range f.Operands {
		operands = append(operands, describe(operand))
	}
	return fmt.Sprintf("(%s %s %q %d %s)", f.Operator, f.Field, f.Values, f.Number, strings.Join(operands, " "))
}

func textual(operator engine.Operator, field engine.Field, value string) *engine.Filter {
	return &engine.Filter{Operator: operator, Field: field, Values: []string{value}}
}

func when(operator engine.Operator, number int64) *engine.Filter {
	return &engine.Filter{Operator: operator, Field: engine.FieldSeconds, Number: number}
}

func either(filters ...*engine.Filter) *engine.Filter {
	return &engine.Filter{Operator: engine.Any, Operands: filters}
}

// questioned are reports that differ in all fields: with a scope and without, with subjects of their own, several of
// them in an entry, and with none.
func questioned() []engine.Op {
	pod := &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "b", Name: "web-1", UID: "u1"}
	other := &engine.Subject{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "c", Name: "Web", UID: "u2"}
	nameless := &engine.Subject{Kind: "Pod"}
	pass := &engine.Verdict{Source: "kyverno", Policy: "require-labels", Rule: "check", Category: "Best", Severity: "low", Result: "pass",
		Scored: true, Message: "Pod \x01 of \x02 (\x03) is fine"}
	fail := &engine.Verdict{Source: "trivy", Policy: "CVE-1", Rule: "Ünïcode%_", Severity: "high", Result: "fail", Message: "100% bad_thing", Properties: `{"a":"b"}`}
	empty := &engine.Verdict{}
	same := &engine.Verdict{Source: "trivy", Policy: "CVE-1", Rule: "Ünïcode%_", Severity: "high", Result: "fail", Message: "another"}
	return []engine.Op{
		keyed(&engine.Projection{Namespace: "b", Name: "r1", UID: "1", Kind: "PolicyReport", CreatedAt: 5, Scope: pod, Results: []engine.Result{
			{Index: 0, Verdict: pass, Seconds: 100}, {Index: 1, Verdict: fail, Subject: other, Seconds: 200}, {Index: 1, Verdict: fail, Subject: pod, Seconds: 200},
			{Index: 2, Verdict: same, Ordinal: 1}, {Index: 3, Verdict: empty, Subject: nameless, Seconds: -5},
		}}),
		keyed(&engine.Projection{Namespace: "b", Name: "r10", UID: "2", Kind: "PolicyReport", Results: []engine.Result{
			{Index: 0, Verdict: fail, Seconds: 300}, {Index: 1, Verdict: pass, Seconds: 100}, {Index: 2, Verdict: empty},
		}}),
		keyed(&engine.Projection{Namespace: "b-c", Name: "r1", UID: "3", Kind: "PolicyReport", Scope: nameless, Results: []engine.Result{
			{Index: 0, Verdict: pass, Seconds: 400},
		}}),
		keyed(&engine.Projection{Namespace: "b", Name: "r1", UID: "4", Kind: "Report", Scope: other, Results: []engine.Result{
			{Index: 0, Verdict: pass, Seconds: 100}, {Index: 0, Verdict: pass, Subject: pod}, {Index: 2, Verdict: fail, Seconds: 100},
		}}),
		keyed(&engine.Projection{Name: "cluster", UID: "5", Kind: "Report", Scope: other, Results: []engine.Result{
			{Index: 0, Verdict: same, Seconds: 1}, {Index: 1, Verdict: same, Seconds: 2, Ordinal: 1},
			{Index: 1, Verdict: same, Seconds: 2, Ordinal: 2}, // The entry names its resource twice.
		}}),
		keyed(&engine.Projection{Namespace: "empty", Name: "report", Kind: "Report", Scope: pod}),
	}
}

// valuesOf returns the texts that a field has in some reports, each once.
func valuesOf(ops []engine.Op, field engine.Field) []string {
	var values []string
	for _, op := range ops {
		for _, row := range selectRows(op.Projection, nil) {
			values = append(values, textOf(row, field))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// question compares the answers to a random question.
func (p pair) question(random *rand.Rand) {
	p.Helper()
	filter := randomFilter(random, 3)
	var namespace *string
	if random.IntN(3) == 0 {
		namespace = new(string)
		*namespace = [...]string{"ns-1", "ns-1-a", "ns", ""}[random.IntN(4)]
	}
	kinds := questionKinds[random.IntN(2):]
	rows := engine.RowQuery{Kinds: kinds, Namespace: namespace, Filter: filter, Limit: 1 + random.IntN(12), Inclusive: random.IntN(2) == 0}
	if random.IntN(2) == 0 {
		place := about(&engine.Projection{}, reports, randomKey(random, 12))
		rows.After = placeOf(place)
	}
	p.compareRows(rows)
	counts := engine.CountQuery{
		Kinds: kinds, Namespace: namespace, Filter: filter, Limit: 1 + random.IntN(30),
		Subjects: random.IntN(3) == 0, Namespaces: random.IntN(3) == 0, Times: random.IntN(4) == 0, Descending: random.IntN(2) == 0,
		Policies: random.IntN(3) == 0, Sources: random.IntN(4) == 0,
	}
	counts.Having = randomBounds(random, counts)
	fields := groupable()
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	counts.By = fields[:random.IntN(4)]
	counts.OrderBy = append([]engine.Field{"", engine.OrderResults, engine.OrderSubjects, engine.OrderNamespaces}, counts.By...)[random.IntN(4+len(counts.By))]
	p.compareCounts(counts)
}

func randomFilter(random *rand.Rand, depth int) *engine.Filter {
	switch kind := random.IntN(10); {
	case kind == 0:
		return nil
	case kind < 5 && depth > 0:
		f := &engine.Filter{Operator: []engine.Operator{engine.All, engine.Any}[random.IntN(2)]}
		for range 1 + random.IntN(3) {
			if operand := randomFilter(random, depth-1); operand != nil {
				f.Operands = append(f.Operands, operand)
			}
		}
		return f
	case kind == 5:
		return engine.Negate(randomFilter(random, depth-1))
	}
	ops := []engine.Op{
		{Projection: about(projection(random.IntN(6), 4), questionKinds[random.IntN(2)].Resource, randomKey(random, 12))},
	}
	if random.IntN(12) == 0 {
		return randomProperty(random)
	}
	field := engine.Fields()[random.IntN(len(engine.Fields()))]
	if field.IsNumber() {
		f := when([]engine.Operator{engine.LessThan, engine.GreaterThan, engine.EqualTo}[random.IntN(3)], 1_700_000_000+int64(random.IntN(3)-1))
		f.Field = field
		return f
	}
	values := valuesOf(ops, field)
	value := values[random.IntN(len(values))]
	runes := []rune(value)
	switch random.IntN(5) {
	case 0:
		return textual(engine.StartsWith, field, string(runes[:len(runes)/2]))
	case 1:
		return textual(engine.EndsWith, field, string(runes[len(runes)/2:]))
	case 2:
		return textual(engine.Contains, field, string(runes[len(runes)/3:len(runes)/2]))
	}
	return engine.OneOf(field, value, "another")
}
