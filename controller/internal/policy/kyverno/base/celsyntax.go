// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// celSyntax knows what expressions in CEL look like, and none of what they may call.
var celSyntax = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(cel.OptionalTypes()) })

// VisitCEL shows each part of an expression, from the inside out. The error tells that it is not CEL.
func VisitCEL(expression string, visit func(ast.Expr)) error {
	syntax, err := celSyntax()
	if err != nil {
		return err
	}
	parsed, issues := syntax.Parse(expression)
	if issues.Err() != nil {
		return issues.Err()
	}
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(visit))
	return nil
}

// VariableOf returns the name of a variable, nothing for what is none. With a dot before it, it is the same variable.
func VariableOf(expr ast.Expr) string {
	if expr.Kind() != ast.IdentKind {
		return ""
	}
	return strings.TrimPrefix(expr.AsIdent(), ".")
}
