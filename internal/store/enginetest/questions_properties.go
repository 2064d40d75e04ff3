// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// propertyNames are names that reports may have, and that can be asked for.
func propertyNames() []string {
	return []string{
		"score", "artifact.repository", "a", "A", "a b", "é", "𝒳", "$", "[0]", "0", "#-1", "'", "' OR 1 = 1 --", "%", "?1", "$1", "<&>", "*",
		strings.Repeat("n", engine.MaxPropertyName),
	}
}

// scores are texts that are numbers, and such that look like it.
func scores() []string {
	return []string{
		"8", "8.0", "-1.5", "08", "-0", "0", "9.8", "7.999999", "9999999999999999", "99999999999999999", "0.1", "1e3", "NaN", "inf", "8.", ".5", "+5", " 9", "9 ", "9\n",
		"--9", "9-1", "1.2.3", "٣", "0x10", "9,5", "-", "", "critical",
	}
}

// propertied are reports whose results have odd properties: some, all, and none.
func propertied(t testing.TB) []engine.Op {
	t.Helper()
	p := &engine.Projection{Namespace: "a", Name: "properties", Kind: "PolicyReport", CreatedAt: 100, Scope: &engine.Subject{Kind: "Pod", Name: "web"}}
	other := &engine.Projection{Namespace: "b", Name: "properties", Kind: "Report", CreatedAt: 200}
	add := func(p *engine.Projection, properties map[string]string) {
		text, err := json.Marshal(properties)
		if err != nil {
			t.Fatal(err)
		}
		n := len(p.Results)
		p.Results = append(p.Results, engine.Result{Index: int32(n), Verdict: &engine.Verdict{
			Source: "trivy", Policy: fmt.Sprint(n % 4), Result: []string{"pass", "fail"}[n%2], Properties: engine.JSON(text),
		}})
	}
	for i, score := range scores() {
		add(p, map[string]string{"score": score, "artifact.repository": fmt.Sprint("library/", i%3), `"quoted\`: "x"})
	}
	for i, text := range odd() {
		all := map[string]string{"unrelated": "x"}
		for j, name := range propertyNames() {
			if (i+j)%4 != 0 {
				all[name] = text
			}
		}
		add(other, all)
	}
	p.Results = append(p.Results, engine.Result{Index: 1000, Verdict: &engine.Verdict{Source: "trivy"}}) // With no properties at all.
	return []engine.Op{keyed(p), keyed(other)}
}

// testProperties selects and counts by properties of each name.
func testProperties(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(propertied(t), questioned()...)...)
	fails := engine.Equal(engine.FieldResult, "fail")
	for i, name := range append(propertyNames(), "none", "artifact") {
		field := engine.Property(name)
		for j, text := range append(odd(), "library/1", "9.8") {
			if i > 0 && (i+j)%4 != 0 {
				continue
			}
			for _, f := range []*engine.Filter{
				engine.Equal(field, text), engine.Negate(engine.OneOf(field, text, "8")), textual(engine.StartsWith, field, text),
				textual(engine.EndsWith, field, text), textual(engine.Contains, field, text),
			} {
				p.ask(f)
			}
			p.ask(either(engine.Equal(field, text), engine.Equal(engine.FieldSubjectName, "web")))
			p.ask(engine.Both(engine.Equal(field, text), fails, engine.Equal(engine.FieldNamespace, "b")))
		}
		p.eachOrder(engine.CountQuery{By: []engine.Field{field}})
		p.eachOrder(engine.CountQuery{By: []engine.Field{engine.FieldPolicy, field}, Filter: fails})
		p.eachOrder(engine.CountQuery{
			By: []engine.Field{field, engine.FieldTemplate, engine.Property("score"), engine.FieldSubjectName}[:1+i%2*3], Policies: true, Sources: true, Subjects: true,
			Filter: either(engine.Equal(field, "A"), engine.Equal(engine.FieldSubjectName, "web"), engine.Equal(engine.FieldResult, "pass")),
		})
	}
}

// testNumericProperties compares properties with numbers: what is no number is neither above nor below.
func testNumericProperties(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(propertied(t)...)
	found := 0
	for _, number := range []float64{8, -1.5, 0, 9.8, 0.1, 7.999999, 9999999999999999, -1e300, 1e300, 1000, 0.30000000000000004} {
		for _, operator := range []engine.Operator{engine.LessThan, engine.GreaterThan, engine.EqualTo} {
			for _, name := range []string{"score", "a", "none"} {
				f := &engine.Filter{Operator: operator, Field: engine.Property(name), Decimal: number}
				p.ask(f)
				p.ask(engine.Negate(f))
				p.ask(engine.Both(f, engine.Equal(engine.FieldSubjectName, "web")))
				p.ask(either(f, engine.Equal(engine.FieldSubjectName, "web")))
				found += len(p.rows(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: 1000}).Rows)
			}
		}
	}
	if found == 0 {
		t.Error("no result has such a score")
	}
}

// randomProperty returns a condition on a property that results of tests have, or don't.
func randomProperty(random *rand.Rand) *engine.Filter {
	field := engine.Property([]string{"a", "b"}[random.IntN(2)])
	switch random.IntN(3) {
	case 0:
		return &engine.Filter{Operator: engine.GreaterThan, Field: field, Decimal: 1}
	case 1:
		return textual(engine.Contains, field, "")
	}
	return engine.OneOf(field, "b", "another")
}
