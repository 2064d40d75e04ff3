// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"errors"
	"strings"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// common is the same in policies of all kinds in CEL.
type common struct {
	base.Common
	compiler *Compiler
	limits   *base.Limits
}

// describe reads what needs no engine, and returns the exceptions of the policy that count.
func (c *Compiler) describe(object *unstructured.Unstructured, all []*unstructured.Unstructured) (*common, []*unstructured.Unstructured) {
	referring, ignored := c.Counting(object, celExceptions(object, all))
	out := &common{Common: base.Describe(object, referring), compiler: c, limits: c.Limits()}
	out.Facts.Ignored, out.Facts.Doubt = ignored, base.UnknownFieldsError(unknownFields(object))
	return out, referring
}

var (
	errNoRules       = errors.New("spec.matchConstraints.resourceRules is empty: name the resources that the policy is about")
	errNoValidations = errors.New("spec.validations is empty: give the policy a validation")
)

// incomplete says what a policy lacks: resources, or checks, of which it has a number.
func incomplete(constraints *admissionregistrationv1.MatchResources, checks int, noChecks error) error {
	switch {
	case constraints == nil || len(constraints.ResourceRules) == 0:
		return errNoRules
	case checks == 0:
		return noChecks
	default:
		return nil
	}
}

// ready returns the exceptions of a policy that can be compiled, unless it is incomplete, and sets what it reads.
func (p *common) ready(object *unstructured.Unstructured, referring []*unstructured.Unstructured, incomplete error) ([]*policiesv1beta1.PolicyException, error) {
	if incomplete != nil {
		return nil, incomplete
	}
	if object.GetNamespace() == "" {
		p.Facts.Entries = globalEntries(append(referring, object))
	} else if name := base.UnboundedOf(object); name != "" {
		return nil, base.UnboundedError(name)
	}
	return decodeCELExceptions(referring)
}

// decode reads any version of a policy, whose schema is the same for the cluster and for a namespace.
func decode[L any](object *unstructured.Unstructured, ofCluster, ofNamespace L) (L, error) {
	if strings.HasPrefix(object.GetKind(), "Namespaced") {
		return ofNamespace, base.Decode(object, ofNamespace)
	}
	return ofCluster, base.Decode(object, ofCluster)
}

// run evaluates a subject that the policy reaches, in one step.
func (p *common) run(ctx context.Context, subject policy.Subject, step func(context.Context, policy.Subject) ([]policy.Result, error)) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.Reaches(&subject, p.compiler.Mapper) {
		return nil, nil
	}
	return p.limits.Run(ctx, base.OneStep(func(ctx context.Context) ([]policy.Result, error) { return step(ctx, subject) }))
}

// Review gives no verdicts: only validating policies review requests.
func (p *common) Review(ctx context.Context, _ *policy.Request) ([]policy.Verdict, error) {
	return nil, ctx.Err()
}
