// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// globalEntries returns what the expressions of objects read from the context cache, each once. In
// namespaced policies that is an error of Kyverno's library.
func globalEntries(objects []*unstructured.Unstructured) []policy.Entry {
	var out []policy.Entry
	add := func(name string) {
		if entry := (policy.Entry{Kind: policy.GlobalContextEntry, Name: name}); !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	for _, object := range objects {
		base.EachText(object.Object["spec"], func(text string) {
			if strings.Contains(text, base.GlobalContext) {
				for _, name := range globalNames(text) {
					add(name)
				}
			}
		})
	}
	return out
}

// globalNames returns the names in calls such as globalContext.Get("name", ""). All else that an
// expression does with the variable may ask for any name.
func globalNames(expression string) []string {
	var names []string
	uses, known := 0, 0
	err := base.VisitCEL(expression, func(expr ast.Expr) {
		if base.VariableOf(expr) == base.GlobalContext {
			uses++
		}
		if expr.Kind() != ast.CallKind {
			return
		}
		if name, ok := literalGet(expr.AsCall()); ok {
			known++
			names = append(names, name)
		}
	})
	if err != nil {
		return []string{policy.AnyName}
	}
	if uses > known {
		names = append(names, policy.AnyName)
	}
	return names
}

func literalGet(call ast.CallExpr) (name string, ok bool) {
	if !call.IsMemberFunction() || !strings.EqualFold(call.FunctionName(), "get") || len(call.Args()) == 0 {
		return "", false
	}
	target, first := call.Target(), call.Args()[0]
	if base.VariableOf(target) != base.GlobalContext || first.Kind() != ast.LiteralKind {
		return "", false
	}
	name, ok = first.AsLiteral().Value().(string)
	return name, ok
}
