// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/authentication/user"
	listersv1 "k8s.io/client-go/listers/core/v1"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// admissionPolicy is a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy, with its bindings.
type admissionPolicy struct {
	policy.Described
	compiler *Compiler
	// definition is nil if the policy can't be read.
	definition generic.PolicyAccessor
	// bindings are sorted by name.
	bindings []generic.BindingAccessor
	// auditing are the names of bindings for which no failure denies.
	auditing []string
	// bindingProperty is the property with the binding, as in Kyverno's reports.
	bindingProperty string
	// deciding are the expressions that decide about results, telling those that results show.
	deciding, telling []expression
	program           program
}

// program is a compiled policy.
type program interface {
	// apply returns what a binding says about a request with its parameters, without the rule and the property. It is not
	// applied if there are no parameters, or none for which the match conditions are met.
	apply(ctx context.Context, r request, params []runtime.Object) (result policy.Result, applied bool, err error)
}

// request is an [evaluation] that a policy matches, as the resource and the kind that it names.
type request struct {
	evaluation

	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

// Review gives no verdicts: the API server enforces these policies itself.
func (p *admissionPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, nil
}

func (p *admissionPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.Facts.Problem == nil && !p.Facts.Background {
		return nil, nil
	}
	if p.definition == nil || p.definition.GetMatchConstraints() == nil {
		return p.unreadable(subject), nil
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

// unreadable returns the results of a policy that nobody can match.
func (p *admissionPolicy) unreadable(subject policy.Subject) []policy.Result {
	kind, resource := subject.Object.GroupVersionKind(), p.resourceOf(subject)
	if slices.ContainsFunc(p.Facts.Targets, func(target policy.Target) bool { return target.Matches(kind, resource.Resource) }) {
		return errorResult(p.Facts.Problem)
	}
	return nil
}

// Enforces is read by the function [policy.Enforces]. Rules are bindings.
func (p *admissionPolicy) Enforces(binding string, _ policy.Subject) bool {
	return !slices.Contains(p.auditing, binding)
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

// resourceOf guesses the resource of a subject if it is not known.
func (p *admissionPolicy) resourceOf(subject policy.Subject) schema.GroupVersionResource {
	if subject.Resource.Resource != "" {
		return subject.Resource
	}
	return policy.ResourceOf(p.compiler.config.Mapper, subject.Object.GroupVersionKind())
}

// evaluationOf makes a request of a subject: its creation by nobody.
func (p *admissionPolicy) evaluationOf(subject policy.Subject) evaluation {
	object, kind, resource := subject.Object, subject.Object.GroupVersionKind(), p.resourceOf(subject)
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
	interfaces := p.compiler.interfaces
	matches, resource, kind, err := e.matcher.DefinitionMatches(e.attributes, interfaces, p.definition)
	if err != nil {
		return nil, fmt.Errorf("match the policy: %w", err)
	}
	if !matches {
		return nil, nil
	}
	if p.Facts.Problem != nil {
		return nil, p.Facts.Problem
	}
	var results []policy.Result
	for _, binding := range p.bindings {
		matches, err := e.matcher.BindingMatches(e.attributes, interfaces, binding)
		if err == nil && !matches {
			continue
		}
		var params []runtime.Object
		if err == nil {
			params, err = p.parameters(ctx, binding, e.attributes.GetNamespace())
		}
		var result policy.Result
		applied := false
		if err == nil {
			result, applied, err = p.program.apply(ctx, request{e, resource, kind}, params)
		}
		switch {
		case err != nil:
			results = append(results, p.resultOf(binding, policy.Result{Outcome: report.OutcomeError, Message: fmt.Sprintf("binding %s: %v", binding.GetName(), err)}))
		case applied:
			results = append(results, p.resultOf(binding, result))
		}
	}
	return results, nil
}

// resultOf adds the binding to a result.
func (p *admissionPolicy) resultOf(binding generic.BindingAccessor, result policy.Result) policy.Result {
	result.Rule = binding.GetName()
	properties := map[string]string{}
	maps.Copy(properties, result.Properties)
	properties[p.bindingProperty] = binding.GetName()
	result.Properties = properties
	return result
}

// knownNamespace is a lister of the one namespace that a matcher can ask for. It never answers that
// there is none: the matcher would ask the cluster.
type knownNamespace struct{ namespace *corev1.Namespace }

var _ listersv1.NamespaceLister = knownNamespace{}

func (k knownNamespace) List(labels.Selector) ([]*corev1.Namespace, error) {
	return []*corev1.Namespace{k.namespace}, nil
}

func (k knownNamespace) Get(name string) (*corev1.Namespace, error) {
	if k.namespace == nil {
		return nil, fmt.Errorf("the namespace %q is not known", name)
	}
	return k.namespace, nil
}
