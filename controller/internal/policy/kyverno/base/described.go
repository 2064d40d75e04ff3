// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// describedPolicy is a policy of a kind that only Kyverno's own controllers evaluate: it exists, and is
// presented as Kyverno presents it.
type describedPolicy struct{ Common }

// CompileProtected returns what compile makes of a policy. One at which it panics, or of a kind that it does not
// know and returns nil for, has a problem.
func CompileProtected(object *unstructured.Unstructured, compile func(kind schema.GroupKind) policy.Policy) policy.Policy {
	var out policy.Policy
	kind := object.GroupVersionKind()
	problem := Protect(func() error {
		out = compile(kind.GroupKind())
		return nil
	})
	if problem == nil && out == nil {
		problem = fmt.Errorf("%s %s is no kind of policy that can be evaluated", kind.GroupVersion(), kind.Kind)
	}
	if problem == nil {
		return out
	}
	described := Describe(object, nil)
	return described.Broken(nil, problem)
}

// DescribeOnly returns a policy that is not evaluated.
func DescribeOnly(object *unstructured.Unstructured) policy.Policy {
	described := Describe(object, nil)
	// Kyverno says so of all of them.
	described.Facts.Presentation.Source, described.Facts.Presentation.Process = sourceGenerating, process(false, true)
	described.Facts.Background, described.Facts.Admission = false, policy.Admission{}
	described.Facts.Entries, described.Facts.ReadsNamespace = nil, false
	return &describedPolicy{Common: described}
}

func (*describedPolicy) Coverage() policy.Coverage { return policy.Coverage{None: true} }

var errNotEvaluated = errors.New("only Kyverno's own controllers evaluate policies of this kind")

func (*describedPolicy) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return nil, errNotEvaluated
}

func (*describedPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, errNotEvaluated
}
