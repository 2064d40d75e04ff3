// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

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
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// mutatingPolicy is a MutatingPolicy or a NamespacedMutatingPolicy. Nothing is mutated: a resource that
// the policy would change fails.
type mutatingPolicy struct {
	common
	compiler *Compiler
	limits   limits
	compiled mpolengine.Provider
}

func (c *Compiler) compileMutating(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	referring, ignored := c.counting(object, celExceptions(object, all))
	described := describe(object, referring)
	described.ignored, described.doubt = ignored, unknownFieldsError(unknownFields(object))
	described.admission = policy.Admission{} // It is Kyverno that mutates.
	targets := unique(constraintTargets(rawConstraints(object)))
	decoded, err := decodeMutating(object)
	if err != nil {
		return described.broken(targets, err)
	}
	if err := checkMutating(object, decoded.GetSpec()); err != nil {
		return described.broken(targets, err)
	}
	exceptions, err := decodeCELExceptions(referring)
	if err != nil {
		return described.broken(targets, err)
	}
	out := &mutatingPolicy{common: described, compiler: c, limits: limits{timeout: c.timeout, runners: &c.runners}}
	err = protect(func() error {
		return c.withLibrary(object.GetNamespace(), func() error {
			var err error
			out.compiled, err = mpolengine.NewProvider(mpolcompiler.NewCompiler(), []policiesv1beta1.MutatingPolicyLike{decoded}, exceptions, c.library.of(object.GetNamespace()))
			return err
		})
	})
	if err != nil {
		return described.broken(targets, err)
	}
	if out.identity.Namespace == "" {
		out.entries = globalEntries(append(referring, object))
	}
	for _, one := range out.compiled.Fetch(context.Background(), false) {
		constraints := one.Policy.GetMatchConstraints()
		out.targets = append(out.targets, constraintTargets(&constraints)...)
	}
	out.targets = unique(out.targets)
	return out
}

// decodeMutating reads any version of a policy: they have one schema.
func decodeMutating(object *unstructured.Unstructured) (policiesv1beta1.MutatingPolicyLike, error) {
	if object.GetKind() == policy.NamespacedMutatingPolicy {
		decoded := &policiesv1beta1.NamespacedMutatingPolicy{}
		return decoded, decode(object, decoded)
	}
	decoded := &policiesv1beta1.MutatingPolicy{}
	return decoded, decode(object, decoded)
}

var errNoMutations = errors.New("spec.mutations is empty: give the policy a mutation")

func checkMutating(object *unstructured.Unstructured, spec *policiesv1beta1.MutatingPolicySpec) error {
	if spec.MatchConstraints == nil || len(spec.MatchConstraints.ResourceRules) == 0 {
		return errNoRules
	}
	if len(spec.Mutations) == 0 {
		return errNoMutations
	}
	if name := unboundedOf(object); object.GetNamespace() != "" && name != "" {
		return unboundedError(name)
	}
	return nil
}

// Evaluate is that of [policy.Policy].
func (p *mutatingPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.reaches(&subject, p.compiler.mapper) {
		return nil, nil
	}
	return p.limits.run(ctx, &mutatingEvaluation{policy: p, subject: subject})
}

// Review is that of [policy.Policy].
func (p *mutatingPolicy) Review(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
	return nil, ctx.Err()
}

// mutatingEvaluation is the evaluation of one subject, in one step.
type mutatingEvaluation struct {
	policy  *mutatingPolicy
	subject policy.Subject
}

func (e *mutatingEvaluation) steps() int { return 1 }

func (e *mutatingEvaluation) step(ctx context.Context, _ int) ([]policy.Result, error) {
	p, namespace := e.policy, e.subject.Namespace()
	library := p.compiler.library.of(p.identity.Namespace)
	engine := mpolengine.NewEngine(p.compiled, func(string) *corev1.Namespace { return namespace }, matching.NewMatcher(), p.compiler.schemas, library)
	ctx, used := metered(ctx)
	// The engine may write what it mutates.
	copied := e.subject
	copied.Object = e.subject.Object.DeepCopy()
	response, err := engine.Handle(ctx, celengine.RequestFromAdmission(library, creation(library, copied)), nil)
	if err == nil {
		err = used.spent
	}
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate the policy: %w", err)
	}
	var results []policy.Result
	for _, one := range response.Policies {
		for i := range one.Rules {
			rule := &one.Rules[i]
			if rule.Status() == engineapi.RuleStatusPass && len(rule.Exceptions()) == 0 && !mutation.Applied(e.subject.Object, response.PatchedResource) {
				rule = engineapi.RuleFail("", engineapi.Mutation, mutation.NotApplied, nil)
			}
			results = append(results, toResult(rule))
		}
	}
	return results, nil
}

func (e *mutatingEvaluation) fail(_ int, cause error) []policy.Result {
	return []policy.Result{errorResult("", cause)}
}

func (e *mutatingEvaluation) forget() {}
