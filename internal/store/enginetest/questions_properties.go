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

// scores are texts that differ, of which some are the same number.
func scores() []string {
	return []string{"8", "8.0", "-1.5", "9.8", "1e3", "9\n", "٣", "", "critical"}
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

// randomProperty returns a condition on a property that results of tests have, or don't.
func randomProperty(random *rand.Rand) *engine.Filter {
	field := engine.Property([]string{"a", "b"}[random.IntN(2)])
	if random.IntN(2) == 0 {
		return textual(engine.Contains, field, "")
	}
	return engine.OneOf(field, "b", "another")
}
