// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Counting separates the exceptions that count. People who may write exceptions often have no say about the policy.
func (s *Setup) Counting(object *unstructured.Unstructured, named []*unstructured.Unstructured) (counted []*unstructured.Unstructured, ignored []policy.IgnoredException) {
	for _, exception := range named {
		reason, message := s.ignore(object, exception)
		if reason == "" {
			counted = append(counted, exception)
			continue
		}
		ignored = append(ignored, policy.IgnoredException{
			Exception: corev1.ObjectReference{
				APIVersion: exception.GetAPIVersion(), Kind: exception.GetKind(),
				Namespace: exception.GetNamespace(), Name: exception.GetName(), UID: exception.GetUID(),
			},
			Reason: reason, Message: message,
		})
	}
	return counted, ignored
}

// ignore says why an exception does not count; nothing if it does.
func (s *Setup) ignore(object, exception *unstructured.Unstructured) (reason, message string) {
	from, of := exception.GetNamespace(), object.GetNamespace()
	if !slices.Contains(s.ExceptionNamespaces, policy.AllNamespaces) && !slices.Contains(s.ExceptionNamespaces, from) {
		return policy.ExceptionNamespace, fmt.Sprintf("exceptions in the namespace %q don't count: name it in --exception-namespaces of docket-controller, or make the exception in one that is named", from)
	}
	if of != "" && of != from {
		return policy.ExceptionForeign, fmt.Sprintf("the policy %s is in the namespace %s, where its exceptions have to be", object.GetName(), of)
	}
	for _, expression := range matchConditions(exception) {
		if word := reachingWord(expression); word != "" {
			return policy.ExceptionReach, fmt.Sprintf("a match condition uses %s, which exceptions don't have: decide by the object, the request and the namespace", word)
		}
	}
	if name := UnboundedOf(exception); name != "" {
		return policy.ExceptionUnbounded, fmt.Sprintf("it calls the function %s, which exceptions don't have since its result has no bound: do without it", name)
	}
	return "", ""
}

// matchConditions returns the expressions that decide whom an exception in CEL is for.
func matchConditions(exception *unstructured.Unstructured) []string {
	list, _, err := unstructured.NestedFieldNoCopy(exception.Object, "spec", "matchConditions")
	if err != nil {
		return nil
	}
	conditions, _ := list.([]any)
	var out []string
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if expression, ok := condition["expression"].(string); ok {
			out = append(out, expression)
		}
	}
	return out
}

// reaching are the variables of CEL by which policies ask for more than they are shown.
var reaching = []string{"resource", "http", GlobalContext, "image", "imageData"}

// reachingWord returns the variable that an expression has and an exception may not have. What can't be
// parsed does not compile either, which is said elsewhere.
func reachingWord(expression string) string {
	found := ""
	_ = VisitCEL(expression, func(expr ast.Expr) {
		if name := VariableOf(expr); slices.Contains(reaching, name) {
			found = name
		}
	})
	return found
}
