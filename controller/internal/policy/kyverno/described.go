// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"

	reportutils "github.com/kyverno/kyverno/pkg/utils/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// describedPolicy is a policy of a kind that only Kyverno's own controllers evaluate: it exists, and is
// presented as Kyverno presents it.
type describedPolicy struct{ common }

func describeOnly(object *unstructured.Unstructured) policy.Policy {
	described := describe(object, nil)
	// Kyverno says so of all of them.
	described.presentation.Source, described.presentation.Process = reportutils.SourceGeneratingPolicy, process(false, true)
	described.background, described.admission = false, policy.Admission{}
	described.entries, described.readsNamespace = nil, false
	return &describedPolicy{common: described}
}

// Coverage is for [policy.CoverageOf].
func (*describedPolicy) Coverage() policy.Coverage { return policy.Coverage{None: true} }

var errNotEvaluated = errors.New("only Kyverno's own controllers evaluate policies of this kind")

// Evaluate is that of [policy.Policy].
func (*describedPolicy) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return nil, errNotEvaluated
}

// Review is that of [policy.Policy].
func (*describedPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, errNotEvaluated
}

// Coverage is for [policy.CoverageOf].
func (p *classicPolicy) Coverage() policy.Coverage { return policy.Coverage{Rules: p.covered} }
