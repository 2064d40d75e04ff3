// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	listersv1 "k8s.io/client-go/listers/core/v1"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// bindingProperty is the property of results that Kyverno's reports have, too.
const bindingProperty = "binding"

// admissionPolicy is a ValidatingAdmissionPolicy with its bindings.
type admissionPolicy struct {
	compiler     *Compiler
	identity     policy.Identity
	presentation policy.Presentation
	fingerprint  string
	background   bool
	reported     bool
	// readsNamespace tells that an expression looks at the namespace, of which selectors see the labels only.
	readsNamespace bool
	readsStatus    bool
	targets        []policy.Target
	entries        []policy.Entry
	leftOut        []string
	problem        error
	definition     *admissionregistrationv1.ValidatingAdmissionPolicy
	// bindings are sorted by name.
	bindings  []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	validator validating.Validator
}

// Identity is that of [policy.Policy].
func (p *admissionPolicy) Identity() policy.Identity { return p.identity }

// Presentation is that of [policy.Policy].
func (p *admissionPolicy) Presentation() policy.Presentation { return p.presentation }

// Fingerprint is that of [policy.Policy].
func (p *admissionPolicy) Fingerprint() string { return p.fingerprint }

// Background is that of [policy.Policy].
func (p *admissionPolicy) Background() bool { return p.background }

// Reported is that of [policy.Policy].
func (p *admissionPolicy) Reported() bool { return p.reported }

// Admission is that of [policy.Policy]: the API server does it.
func (p *admissionPolicy) Admission() policy.Admission { return policy.Admission{} }

// Entries is that of [policy.Policy].
func (p *admissionPolicy) Entries() []policy.Entry { return p.entries }

// ReadsStatus is that of [policy.Policy].
func (p *admissionPolicy) ReadsStatus() bool { return p.readsStatus }

// ReadsNamespace is that of [policy.Policy].
func (p *admissionPolicy) ReadsNamespace() bool { return p.readsNamespace }

// Targets is that of [policy.Policy].
func (p *admissionPolicy) Targets() []policy.Target { return p.targets }

// Problem is that of [policy.Policy].
func (p *admissionPolicy) Problem() error { return p.problem }

// Doubt is that of [policy.Policy].
func (p *admissionPolicy) Doubt() error { return nil }

// LeftOut is that of [policy.Policy].
func (p *admissionPolicy) LeftOut() []string { return p.leftOut }

// Review is that of [policy.Policy]: the API server does it.
func (p *admissionPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, nil
}

// Evaluate is that of [policy.Policy].
func (p *admissionPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.problem == nil && !p.background {
		return nil, nil
	}
	results, err := p.evaluate(ctx, p.evaluationOf(subject))
	if err != nil {
		results = errorResult(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return results, nil
}

func errorResult(cause error) []policy.Result {
	return []policy.Result{{Outcome: report.OutcomeError, Message: cause.Error()}}
}

// evaluation is a subject as the library sees requests.
type evaluation struct {
	attributes admission.Attributes
	// namespace is nil for subjects without one, namespaces among them, as it is for the API server.
	namespace *corev1.Namespace
	matcher   generic.PolicyMatcher
}

// evaluationOf makes a request of a subject: its creation by nobody.
func (p *admissionPolicy) evaluationOf(subject policy.Subject) evaluation {
	object, kind := subject.Object, subject.Object.GroupVersionKind()
	resource := subject.Resource
	if resource.Resource == "" {
		resource = policy.ResourceOf(p.compiler.config.Mapper, kind)
	}
	namespace := object.GetNamespace()
	if kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		namespace = object.GetName()
	}
	of := subject.Namespace()
	return evaluation{
		attributes: admission.NewAttributesRecord(object, nil, kind, namespace, object.GetName(), resource, "",
			admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{}),
		namespace: of,
		matcher:   generic.NewPolicyMatcher(matching.NewMatcher(knownNamespace{of}, nil)),
	}
}

func (p *admissionPolicy) evaluate(ctx context.Context, e evaluation) ([]policy.Result, error) {
	if p.problem != nil {
		return nil, p.problem
	}
	interfaces := p.compiler.interfaces
	matches, resource, kind, err := e.matcher.DefinitionMatches(e.attributes, interfaces, validating.NewValidatingAdmissionPolicyAccessor(p.definition))
	if err != nil {
		return nil, fmt.Errorf("match the policy: %w", err)
	}
	if !matches {
		return nil, nil
	}
	versioned, err := admission.NewVersionedAttributes(e.attributes, kind, interfaces)
	if err != nil {
		return nil, fmt.Errorf("show the resource to CEL: %w", err)
	}
	var results []policy.Result
	for _, binding := range p.bindings {
		matches, err := e.matcher.BindingMatches(e.attributes, interfaces, validating.NewValidatingAdmissionPolicyBindingAccessor(binding))
		if err == nil && !matches {
			continue
		}
		var decisions []validating.PolicyDecision
		applied := false
		if err == nil {
			decisions, applied, err = p.decide(ctx, e, binding, resource, versioned)
		}
		switch {
		case err != nil:
			results = append(results, failed(binding, fmt.Errorf("binding %s: %w", binding.Name, err)))
		case applied:
			results = append(results, conclude(binding, decisions))
		}
	}
	return results, nil
}

// decide returns what the expressions say with all parameters of a binding. They are not applied if
// there are no parameters, or none for which the match conditions are met.
func (p *admissionPolicy) decide(
	ctx context.Context, e evaluation, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding,
	resource schema.GroupVersionResource, versioned *admission.VersionedAttributes,
) (decisions []validating.PolicyDecision, applied bool, err error) {
	params, err := p.parameters(ctx, binding, e.attributes.GetNamespace())
	if err != nil {
		return nil, false, err
	}
	for _, param := range params {
		result := p.validator.Validate(ctx, resource, versioned, param, e.namespace, celconfig.RuntimeCELCostBudget, nil)
		decisions = append(decisions, result.Decisions...)
		applied = applied || result.Decisions != nil
	}
	return decisions, applied, nil
}

// conclude makes one result of all decisions of a binding.
func conclude(binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding, decisions []validating.PolicyDecision) policy.Result {
	result := policy.Result{
		Rule: binding.Name, Outcome: report.OutcomePass, Message: "all expressions are met",
		Properties: map[string]string{bindingProperty: binding.Name},
	}
	var failed, errs []string
	for i := range decisions {
		switch decision := &decisions[i]; {
		case decision.Evaluation == validating.EvalError:
			errs = appendNew(errs, decision.Message)
		case decision.Action == validating.ActionDeny:
			failed = appendNew(failed, decision.Message)
		}
	}
	switch {
	case len(failed) > 0:
		result.Outcome, result.Message = report.OutcomeFail, strings.Join(failed, "; ")
	case len(errs) > 0:
		result.Outcome, result.Message = report.OutcomeError, strings.Join(errs, "; ")
	}
	return result
}

func appendNew(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// failed is the result of a binding that can't be evaluated.
func failed(binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding, cause error) policy.Result {
	return policy.Result{
		Rule: binding.Name, Outcome: report.OutcomeError, Message: cause.Error(),
		Properties: map[string]string{bindingProperty: binding.Name},
	}
}

// knownNamespace is a lister of the one namespace that a matcher can ask for. It never answers that
// there is none: the matcher would ask the cluster.
type knownNamespace struct{ namespace *corev1.Namespace }

var _ listersv1.NamespaceLister = knownNamespace{}

// List implements [listersv1.NamespaceLister].
func (k knownNamespace) List(labels.Selector) ([]*corev1.Namespace, error) {
	return []*corev1.Namespace{k.namespace}, nil
}

// Get implements [listersv1.NamespaceLister].
func (k knownNamespace) Get(name string) (*corev1.Namespace, error) {
	if k.namespace == nil {
		return nil, fmt.Errorf("the namespace %q is not known", name)
	}
	return k.namespace, nil
}
