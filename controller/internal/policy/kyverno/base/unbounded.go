// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// UnboundedFunctions give results whose size has nothing to do with that of their arguments. Who
// only has rights in a namespace may not use them in policies, and nobody in exceptions.
var UnboundedFunctions = map[string]bool{
	"random": true, "random.random": true, "gzip.decompress": true, "lists.range": true,
}

// unboundedCall finds what may be such a call in a text that does not say what it is.
var unboundedCall = regexp.MustCompile(`\b(random|gzip\s*\.\s*decompress|lists\s*\.\s*range)\s*\(`)

// UnboundedError says that a policy calls such a function.
func UnboundedError(name string) error {
	return fmt.Errorf(
		"the function %s is not for namespaced policies and exceptions, since its result has no bound: do without it, or ask for a policy of the cluster",
		name,
	)
}

// UnboundedOf returns such a function that an expression of the object calls, always the same one; nothing if there is
// none. An expression of JMESPath may be made of parts: package classic looks once more when it calls a function.
func UnboundedOf(object *unstructured.Unstructured) string {
	found := ""
	EachText(object.Object["spec"], func(text string) {
		if name := unboundedIn(text); name != "" && (found == "" || name < found) {
			found = name
		}
	})
	return found
}

// unboundedIn returns the first such function that a text calls.
func unboundedIn(text string) string {
	match := unboundedCall.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	name := ""
	err := VisitCEL(text, func(expr ast.Expr) {
		if expr.Kind() == ast.CallKind && UnboundedFunctions[calledName(expr.AsCall())] {
			name = calledName(expr.AsCall())
		}
	})
	if err != nil {
		return match[1] // It is JMESPath, or part of another text.
	}
	return name
}

// calledName returns the name of a function with the names before it.
func calledName(call ast.CallExpr) string {
	name := call.FunctionName()
	if call.IsMemberFunction() && call.Target().Kind() == ast.IdentKind {
		name = call.Target().AsIdent() + "." + name
	}
	return strings.TrimPrefix(name, ".")
}
