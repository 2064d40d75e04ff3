// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gojmespath "github.com/kyverno/go-jmespath"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const functionData = `
list: [{name: b, size: 2, tags: [y, x]}, {name: a, size: 3, tags: [z]}, {name: b, size: 1, tags: []}, {name: c}]
texts: [b, a, c]
numbers: [3, 1, 2]
mixed: [b, 1, null]
object: {b: 1, a: [2, 1], c: {d: e}}
`

// functionExpressions use each function that takes a list or an object, and sort_by in all ways.
var functionExpressions = []string{
	"sort_by(list, &name)", "sort_by(list[:3], &size)", "sort_by(list, &size)", "sort_by(list, &none)", "sort_by(texts, &@)", "sort_by(numbers, &@)",
	"sort_by(mixed, &@)", "sort_by(`[]`, &@)", "sort_by(list[:1], &none)", "sort_by(list[:3], &sort(tags || `['q']`)[0] || 'none')",
	"sort_by(list[:3], &sort_by(tags, &@)[0] || '')", "sort_by(list, &abs(name))", "sort_by(object, &a)", "sort_by(list)",
	"map(&sort_by(tags || `[]`, &@), list)", "list[*].tags | [].sort_by(@, &@)", "sort(texts)", "sort(numbers)", "reverse(texts)", "to_array(texts)",
	"merge(object, {a: `1`})", "max_by(list[:3], &size)", "min_by(list[:3], &size)", "max(numbers)", "min(texts)", "join('-', texts)", "not_null(object.z, object.a)",
	"items(object, 'k', 'v')", "items(texts, 'k', 'v')", "object_from_lists(texts, numbers)", "sum(numbers)", "lookup(object, 'a')", "lookup(texts, `1`)",
	"label_match(object, object)", "contains(texts, 'a')", "length(object)", "type(object)", "to_string(object.a)", "avg(numbers)",
	"texts | sort_by(@, &@)[0]", "list[?tags] | [0].tags", "list[].tags[]", "texts[::-1]",
}

// TestFunctionsChangeNothing promises that no function changes its arguments, and that sort_by is
// that of the library otherwise.
func TestFunctionsChangeNothing(t *testing.T) {
	t.Parallel()
	settings := compiler(t).settings
	ours, theirs := newExpressions(settings, false), jmespath.New(settings)
	data := enginetest.DocumentOf(t, functionData)
	before := testkit.Must(json.Marshal(data))(t)
	for _, expression := range functionExpressions {
		got, gotErr := ours.Search(expression, data)
		want, wantErr := theirs.Search(expression, enginetest.DocumentOf(t, functionData))
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, the library: %v", expression, gotErr, wantErr)
		} else if gotErr == nil {
			enginetest.WantEqual(t, expression, want, got)
		}
		after := testkit.Must(json.Marshal(data))(t)
		if string(before) != string(after) {
			t.Fatalf("%s has changed the data to %s", expression, after)
		}
	}
}

// TestFunctions promises that the functions are Kyverno's and that the impure ones exist.
func TestFunctions(t *testing.T) {
	t.Parallel()
	caller, impure := Functions(false)
	for _, function := range jmespath.GetFunctions(compiler(t).settings) {
		if _, err := caller.CallFunction(function.Name, make([]any, 9), gojmespath.NewInterpreter()); err != nil && strings.Contains(err.Error(), "unknown function") {
			t.Errorf("%s is missing", function.Name)
		}
	}
	for _, name := range impure {
		if _, err := caller.CallFunction(name, make([]any, 9), gojmespath.NewInterpreter()); err != nil && strings.Contains(err.Error(), "unknown function") {
			t.Errorf("%s does not exist", name)
		}
	}
}

// TestExpressionsAreBounded promises that expressions with names in them don't fill the memory.
func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	e := newExpressions(compiler(t).settings, true)
	for i := range maxPrograms + 100 {
		testkit.Must(e.Query(fmt.Sprintf("a[?b == '%d']", i)))(t)
	}
	testkit.Must(e.Query("'" + strings.Repeat("x", maxRemembered) + "'"))(t)
	if got := e.programs.Len(); got != maxPrograms {
		t.Errorf("%d expressions are remembered", got)
	}
	if _, err := e.Query("a["); err == nil {
		t.Error("an expression that is none compiles")
	}
}

// TestNarrowedMessages promises that errors of conditions have the words of the user.
func TestNarrowedMessages(t *testing.T) {
	t.Parallel()
	c := withEntries(t, enginetest.NewFakeEntries(t))
	const entry = "context: [{name: c, resourceCache: {version: v1, kind: configmaps, namespace: team}}]\n"
	for _, conditions := range []string{
		`[{key: "{{ request.object.spec.containers[].name }}", operator: AnyIn, value: "{{ c.none }}"}]`,
		`[{key: "{{ c.none }}", operator: AnyIn, value: "{{ request.object.spec.containers[].name }}"}]`,
	} {
		for _, rule := range []string{
			entry + "validate: {deny: {conditions: {any: " + conditions + "}}}\n",
			entry + "preconditions: {any: " + conditions + "}\nvalidate: {deny: {}}\n",
			entry + "preconditions: " + conditions + "\nvalidate: {deny: {}}\n",
			"validate:\n  foreach:\n  - list: request.object.spec.containers\n    " + entry + "    foreach: [{list: request.object.spec.containers, deny: {conditions: {all: " + conditions + "}}}]\n",
		} {
			p := enginetest.Compile(t, c, enginetest.ClusterPolicy(enginetest.PodRule(rule)))
			classic := p.(*classicPolicy)
			for _, s := range []string{enginetest.BadPod, enginetest.BadDeployment, enginetest.BadPod} {
				results, _ := enginetest.Evaluate(t, p, enginetest.Subject(t, s))
				if len(results) != 1 || results[0].Outcome != "error" || !strings.Contains(results[0].Message, "resolve c.none at") || strings.Contains(results[0].Message, "docket_") {
					t.Errorf("%s: %+v", rule, results)
				}
			}
			for _, rule := range classic.rules {
				if rule.texts == nil {
					t.Errorf("%s: it is not narrowed", rule.Name)
				}
			}
			// What is compiled from is as the user wrote it.
			data, err := json.Marshal(classic.decoded)
			if err != nil || strings.Contains(string(data), "docket_") {
				t.Errorf("%s, %v", data, err)
			}
		}
	}
}
