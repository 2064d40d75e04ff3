// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gojmespath "github.com/kyverno/go-jmespath"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// searchExpressions have each kind of node, also where something is missing or of another type.
var searchExpressions = append([]string{
	"list[*].name", "list[*].none", "none[*].name", "object[*]", "list[?size > `1`].name", "list[?size > none]", "list[?none]", "none[?a]", "list[?tags[0] == 'x' || size == `3`]",
	"list[].tags[]", "list[].tags[].none", "none[]", "object[]", "items(object, 'k', 'v')[]", "items(object, 'k', 'v')[*].k", "items(object, 'k', 'v')[?k == 'a'].v | [0]",
	"items(object, 'k', 'v')[1:]", "items(object, 'k', 'v')[0]", "split('a,b', ',')[*]", "split('a,b', ',')[1]", "split('a,b', ',') | length(@)",
	"{a: list[0].name, b: none, c: texts}", "[list[0].name, none, texts]", "none.{a: b}", "none.[a]", "`null` | [@]", "object.c.d", "object.none", "object.none.more",
	"object.c.*", "texts.*", "none.*", "object.c.*.none", "`{\"a\": 1}`.*.to_string(@)", "object.a[1]", "object.a[-1]", "object.a[9]", "texts[0:2]", "texts[::-1]", "none[0:1]", "texts[::0]",
	"none || 'x'", "'' || none", "none && 'x'", "object && none", "object && object.b", "!none", "!object", "![]", "list[0] | name", "none | none2", "none | [@]",
	"`1` < `2`", "'a' < 'b'", "none == none2", "none < `1`", "list[0] == list[0]", "@", "@.texts", "'lit'", "`[1, 2]`", "length(none)", "length(`1`)", "unknown(@)", "abs(`-1`)",
	"map(&name, list)", "map(&none, list)", "map(&length(none), list)", "map(&name, none)", "map(&name, `[]`)", "map(list, &name)", "map(&name)", "map(&@, object)",
	"max_by(list, &name)", "max_by(list, &size)", "max_by(list, &none)", "max_by(`[]`, &a)", "max_by(list[:1], &length(a))", "min_by(list[:3], &name)", "min_by(none, &a)",
	"sort_by(list, &name)[*].name", "sort_by(none, &a)", "sort_by(list[:1], &length(a))", "sort_by(`[]`, &a)", "list[*].[name, size][]", "list[*].{n: name}[?n == 'a']", "not_null(none, 'x')",
}, functionExpressions...)

// TestSearchIsTheLibrary promises the results of the library, for each expression and each one on
// the result of another.
func TestSearchIsTheLibrary(t *testing.T) {
	t.Parallel()
	data := enginetest.DocumentOf(t, functionData)
	for _, expression := range searchExpressions {
		compareSearch(t, data, expression)
		for _, outer := range searchExpressions {
			compareSearch(t, data, expression+" | "+outer)
			compareSearch(t, data, "list[?"+expression+"].["+outer+"]")
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, expression := range searchExpressions {
		f.Add(expression)
	}
	data := enginetest.DocumentOf(f, functionData)
	f.Fuzz(func(t *testing.T, expression string) { compareSearch(t, data, expression) })
}

var searchFunctions, _ = Functions(false)

func compareSearch(t *testing.T, data any, expression string) {
	t.Helper()
	ast, err := gojmespath.NewParser().Parse(expression)
	if err != nil || anyNode(&ast, inAnyOrder) {
		return
	}
	type outcome struct {
		Result any
		Failed bool
	}
	var want, got outcome
	want.Failed = base.Protect(func() error {
		want.Result, err = gojmespath.NewInterpreter().Execute(ast, data, gojmespath.WithFunctionCaller(searchFunctions))
		return err
	}) != nil
	got.Failed = base.Protect(func() error {
		got.Result, err = newProgram(ast, &expressions{functions: searchFunctions}).Search(data)
		return err
	}) != nil
	if got.Failed && err != nil && (err.Error() == errReference.Error() || strings.Contains(err.Error(), "more than 16 MiB")) {
		return
	}
	if want.Failed {
		want.Result, got.Result = nil, nil
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "%s: (-library +ours, %v)", expression, err)
}

// inAnyOrder tells of nodes whose results have no order, or are others each time.
func inAnyOrder(node *gojmespath.ASTNode) bool {
	name, _ := node.Value.(string)
	switch node.NodeType {
	case gojmespath.ASTValueProjection:
		return node.Children[0].NodeType != gojmespath.ASTLiteral
	case gojmespath.ASTFunctionExpression:
		return name == "keys" || name == "values" || name == "random" || strings.HasPrefix(name, "time_") || name == "is_external_url"
	default:
		return false
	}
}
