// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// compileMutating reads and compiles a MutatingAdmissionPolicy.
func (p *admissionPolicy) compileMutating(object *unstructured.Unstructured, bindings []*unstructured.Unstructured) error {
	p.bindingProperty = "mapBinding"
	definition := &admissionregistrationv1.MutatingAdmissionPolicy{}
	if err := decode(object, definition); err != nil {
		return err
	}
	setDefaults(definition.Spec.MatchConstraints)
	p.definition = mutating.NewMutatingAdmissionPolicyAccessor(definition)
	p.deciding = conditionsAndVariables(definition.Spec.MatchConditions, definition.Spec.Variables)
	for i := range definition.Spec.Mutations {
		path, text := mutationExpression(&definition.Spec.Mutations[i])
		p.deciding = append(p.deciding, expression{fmt.Sprintf("spec.mutations[%d].%s", i, path), text})
	}
	for _, binding := range bindings {
		decoded := &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
		if err := decode(binding, decoded); err != nil {
			return fmt.Errorf("binding %s: %w", binding.GetName(), err)
		}
		setDefaults(decoded.Spec.MatchResources)
		p.bindings = append(p.bindings, mutating.NewMutatingAdmissionPolicyBindingAccessor(decoded))
	}
	compiled, err := compileMutations(definition)
	compiled.interfaces, compiled.schemas = p.compiler.interfaces, p.compiler.config.Schemas
	p.program = compiled
	return err
}

// mutationExpression returns the expression of a mutation with its path.
func mutationExpression(m *admissionregistrationv1.Mutation) (path, text string) {
	switch {
	case m.PatchType == admissionregistrationv1.PatchTypeJSONPatch && m.JSONPatch != nil:
		return "jsonPatch.expression", m.JSONPatch.Expression
	case m.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
		return "applyConfiguration.expression", m.ApplyConfiguration.Expression
	default:
		return "patchType", ""
	}
}

// mutations is the program of a MutatingAdmissionPolicy.
type mutations struct {
	matcher    matchconditions.Matcher
	patchers   []patch.Patcher
	compiler   *cel.CompositedCompiler
	interfaces admission.ObjectInterfaces
	schemas    *mutation.Schemas
}

var errNoMutations = errors.New("spec.mutations is empty: give the policy a mutation")

// compileMutations does what the API server does, which keeps its errors until a request comes.
func compileMutations(definition *admissionregistrationv1.MutatingAdmissionPolicy) (*mutations, error) {
	spec, out := &definition.Spec, &mutations{}
	if spec.MatchConstraints == nil {
		return out, errNoConstraints
	}
	if len(spec.Mutations) == 0 {
		return out, errNoMutations
	}
	compiler, err := cel.NewCompositedCompiler(environments())
	if err != nil {
		return out, fmt.Errorf("prepare CEL: %w", err)
	}
	out.compiler = compiler
	all := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	errs := compileVariables(compiler, spec.Variables, all)
	if len(spec.MatchConditions) > 0 {
		conditions := compiler.CompileCondition(conditions(spec.MatchConditions), all, environment.StoredExpressions)
		errs = append(errs, conditions.CompilationErrors()...)
		out.matcher = matchconditions.NewMatcher(conditions, spec.FailurePolicy, "policy", "validate", definition.Name)
	}
	patching := all
	patching.HasPatchTypes = true
	for i := range spec.Mutations {
		path, text := mutationExpression(&spec.Mutations[i])
		var accessor cel.ExpressionAccessor = &patch.ApplyConfigurationCondition{Expression: text}
		making := patch.NewApplyConfigurationPatcher
		if spec.Mutations[i].PatchType == admissionregistrationv1.PatchTypeJSONPatch {
			accessor, making = &patch.JSONPatchCondition{Expression: text}, patch.NewJSONPatcher
		}
		evaluator := compiler.CompileMutatingEvaluator(accessor, patching, environment.StoredExpressions)
		for _, err := range evaluator.CompilationErrors() {
			errs = append(errs, fmt.Errorf("spec.mutations[%d].%s: %w", i, path, err))
		}
		out.patchers = append(out.patchers, making(evaluator))
	}
	return out, errors.Join(errs...)
}

// apply mutates a copy, with one parameter after the other, as the API server does.
func (m *mutations) apply(ctx context.Context, r request, params []runtime.Object) (policy.Result, bool, error) {
	object, ok := r.attributes.GetObject().(*unstructured.Unstructured)
	if !ok {
		return policy.Result{}, false, fmt.Errorf("the resource is a %T", r.attributes.GetObject())
	}
	versioned, err := admission.NewVersionedAttributes(r.attributes, r.kind, m.interfaces)
	if err != nil {
		return policy.Result{}, false, fmt.Errorf("show the resource to CEL: %w", err)
	}
	versioned.VersionedObject = versioned.VersionedObject.DeepCopyObject()
	ctx = m.compiler.CreateContext(ctx)
	applied := false
	for _, param := range params {
		matches, err := m.matches(ctx, versioned, param)
		if err != nil {
			return policy.Result{}, false, err
		}
		if !matches {
			continue
		}
		applied = true
		for _, patcher := range m.patchers {
			versioned.VersionedObject, err = patcher.Patch(ctx, patch.Request{
				MatchedResource: r.resource, VersionedAttributes: versioned, ObjectInterfaces: m.interfaces, Namespace: r.namespace,
				OptionalVariables: cel.OptionalVariableBindings{VersionedParams: param}, TypeConverter: m.schemas.GetTypeConverter(versioned.VersionedKind),
			}, celconfig.RuntimeCELCostBudget)
			if err != nil {
				return policy.Result{}, false, err
			}
		}
	}
	mutated, ok := versioned.VersionedObject.(*unstructured.Unstructured)
	if !ok {
		return policy.Result{}, false, fmt.Errorf("the mutated resource is a %T", versioned.VersionedObject)
	}
	if mutation.Applied(object, mutated) {
		return policy.Result{Outcome: report.OutcomePass, Message: "mutation is successfully applied"}, applied, nil
	}
	return policy.Result{Outcome: report.OutcomeFail, Message: mutation.NotApplied}, applied, nil
}

func (m *mutations) matches(ctx context.Context, versioned *admission.VersionedAttributes, param runtime.Object) (bool, error) {
	if m.matcher == nil {
		return true, nil
	}
	found := m.matcher.Match(ctx, versioned, param, nil)
	return found.Matches, found.Error
}
