// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"slices"

	"github.com/kyverno/kyverno/pkg/admissionpolicy"
	celengine "github.com/kyverno/kyverno/pkg/cel/engine"
	"github.com/kyverno/kyverno/pkg/cel/matching"
	vpolengine "github.com/kyverno/kyverno/pkg/cel/policies/vpol/engine"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

func (p *celPolicy) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	if !p.InScopeOf(request) || !slices.Contains(p.Facts.Admission.Operations, request.Operation) {
		return nil, nil
	}
	kind := schema.GroupVersionResource(request.Resource).GroupVersion().WithKind(request.Kind.Kind)
	if !base.Requested(p.Facts.Admission.Targets, kind, request.Resource.Resource, request.SubResource) {
		return nil, nil
	}
	results, err := p.limits.Review(ctx, p.Facts.Admission.Timeout, celReview{
		OneStep: func(ctx context.Context) ([]policy.Result, error) { return p.review(ctx, request) }, policy: p, request: request,
	})
	if err != nil {
		return nil, err
	}
	var verdicts []policy.Verdict
	for _, result := range results {
		verdicts = append(verdicts, policy.Verdict{
			Result: result, Warn: p.Facts.Admission.Warns && base.Failed(result.Outcome),
			Deny: result.Outcome == report.OutcomeFail && p.Facts.Admission.Enforces ||
				result.Outcome == report.OutcomeError && p.Facts.Admission.Closed,
		})
	}
	return verdicts, nil
}

// celReview is the evaluation of one request.
type celReview struct {
	base.OneStep
	policy  *celPolicy
	request *policy.Request
}

func (p *celPolicy) review(ctx context.Context, review *policy.Request) ([]policy.Result, error) {
	namespace := base.RequestNamespace(review)
	engine := vpolengine.NewEngine(p.compiled, func(string) *corev1.Namespace { return namespace }, matching.NewMatcher())
	request := *review.AdmissionRequest
	request.Object = p.show(base.AsRequested(review, review.New), request.Object.Raw)
	request.OldObject = p.show(base.AsRequested(review, review.Old), request.OldObject.Raw)
	return handle(ctx, engine, celengine.RequestFromAdmission(p.library(), request))
}

// show returns an object for the engine, which does not read it from JSON once more. For the
// variable "request" it does write it as JSON.
func (p *celPolicy) show(shown *unstructured.Unstructured, raw []byte) runtime.RawExtension {
	switch {
	case shown == nil:
		return runtime.RawExtension{}
	case !p.readsRequest:
		return runtime.RawExtension{Object: unwritten{shown}}
	case len(raw) > 0:
		return runtime.RawExtension{Object: written{shown, raw}}
	default:
		return runtime.RawExtension{Object: shown}
	}
}

// Fail returns an error if the request is one that the policy names.
func (e celReview) Fail(_ int, cause error) []policy.Result {
	matched := true
	err := base.Protect(func() error {
		policies, err := e.policy.compiled(context.Background())
		matched = slices.ContainsFunc(policies, func(one vpolengine.Policy) bool {
			return constrained(one.CompiledPolicy.MatchConstraints(), e.request)
		})
		return err
	})
	if !matched && err == nil {
		return nil
	}
	return []policy.Result{base.ErrorResult("", cause)}
}

// written is an object whose JSON is known.
type written struct {
	*unstructured.Unstructured
	data []byte
}

func (w written) MarshalJSON() ([]byte, error) { return w.data, nil }

// constrainedBy returns what reports whether match constraints have a request.
func constrainedBy(constraints *admissionregistrationv1.MatchResources) func(*policy.Request) bool {
	return func(request *policy.Request) bool { return constrained(constraints, request) }
}

// constrained reports whether match constraints have a request. Those that can't be read have it.
func constrained(constraints *admissionregistrationv1.MatchResources, request *policy.Request) bool {
	if constraints == nil {
		return true
	}
	matched := true
	err := base.Protect(func() error {
		object, old := base.Value(base.AsRequested(request, request.New)), base.Value(base.AsRequested(request, request.Old))
		user := admissionpolicy.NewUser(request.UserInfo)
		attributes := admission.NewAttributesRecord(
			&object, &old, schema.GroupVersionKind(request.Kind), request.Namespace, request.Name,
			schema.GroupVersionResource(request.Resource), request.SubResource, admission.Operation(request.Operation), nil,
			request.DryRun != nil && *request.DryRun, user,
		)
		var namespace runtime.Object
		if known := base.RequestNamespace(request); known != nil {
			namespace = known
		}
		var err error
		matched, err = matching.NewMatcher().Match(&matching.MatchCriteria{Constraints: constraints}, attributes, namespace)
		return err
	})
	return matched || err != nil
}
