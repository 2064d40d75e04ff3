// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"errors"
	"fmt"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	celengine "github.com/kyverno/kyverno/pkg/cel/engine"
	"github.com/kyverno/kyverno/pkg/cel/matching"
	mpolcompiler "github.com/kyverno/kyverno/pkg/cel/policies/mpol/compiler"
	mpolengine "github.com/kyverno/kyverno/pkg/cel/policies/mpol/engine"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// mutatingPolicy is a MutatingPolicy or a NamespacedMutatingPolicy. Nothing is mutated: a resource that
// the policy would change fails.
type mutatingPolicy struct {
	*common
	compiled mpolengine.Provider
}

func (c *Compiler) compileMutating(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	described, referring := c.describe(object, all)
	described.Facts.Admission = policy.Admission{Enforces: described.Facts.Admission.Enforces} // It is Kyverno that mutates.
	targets := base.Unique(constraintTargets(rawConstraints(object)))
	decoded, err := decode[policiesv1beta1.MutatingPolicyLike](object, &policiesv1beta1.MutatingPolicy{}, &policiesv1beta1.NamespacedMutatingPolicy{})
	if err != nil {
		return described.Broken(targets, err)
	}
	exceptions, err := described.ready(object, referring, incomplete(decoded.GetSpec().MatchConstraints, len(decoded.GetSpec().Mutations), errNoMutations))
	if err != nil {
		return described.Broken(targets, err)
	}
	out := &mutatingPolicy{common: described}
	err = base.Protect(func() error {
		return c.withLibrary(object.GetNamespace(), func() error {
			var err error
			out.compiled, err = mpolengine.NewProvider(mpolcompiler.NewCompiler(), []policiesv1beta1.MutatingPolicyLike{decoded}, exceptions, c.library.of(object.GetNamespace()))
			return err
		})
	})
	if err != nil {
		return described.Broken(targets, err)
	}
	for _, one := range out.compiled.Fetch(context.Background(), false) {
		constraints := one.Policy.GetMatchConstraints()
		out.Facts.Targets = append(out.Facts.Targets, constraintTargets(&constraints)...)
	}
	out.Facts.Targets = base.Unique(out.Facts.Targets)
	return out
}

var errNoMutations = errors.New("spec.mutations is empty: give the policy a mutation")

func (p *mutatingPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	return p.run(ctx, subject, p.evaluate)
}

func (p *mutatingPolicy) evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	namespace := subject.Namespace()
	library := p.compiler.library.of(p.Facts.Identity.Namespace)
	engine := mpolengine.NewEngine(p.compiled, func(string) *corev1.Namespace { return namespace }, matching.NewMatcher(), p.compiler.Schemas, library)
	ctx, used := meter.With(ctx)
	// The engine may write what it mutates.
	copied := subject
	copied.Object = subject.Object.DeepCopy()
	response, err := engine.Handle(ctx, celengine.RequestFromAdmission(library, creation(library, copied)), nil)
	if err == nil {
		err = used.Spent
	}
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate the policy: %w", err)
	}
	var results []policy.Result
	for _, one := range response.Policies {
		for i := range one.Rules {
			rule := &one.Rules[i]
			if rule.Status() == engineapi.RuleStatusPass && len(rule.Exceptions()) == 0 && !mutation.Applied(subject.Object, response.PatchedResource) {
				rule = engineapi.RuleFail("", engineapi.Mutation, mutation.NotApplied, nil)
			}
			results = append(results, base.ResultOf(rule, nil))
		}
	}
	return results, nil
}
