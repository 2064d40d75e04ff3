// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	policiesv1 "github.com/kyverno/api/api/policies.kyverno.io/v1"
	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// rule converts a rule to the spec of a policy.
func (c *converter) rule(p kyvernov1.PolicyInterface, rule *kyvernov1.Rule, field string) (map[string]any, error) {
	if err := supported(rule, field); err != nil {
		return nil, err
	}
	match := c.match(rule, field)
	if c.autogen && !match.podsOnly {
		c.refuse(field+".match", "name Pod only, or set the annotation "+kyverno.AnnotationAutogenControllers+" to none", "the rule is also about the controllers of pods, which a CEL policy is only if it is about pods alone")
	}
	if c.err != nil { // There may be no resource rule.
		return nil, c.err
	}
	c.setObject(match)
	if oneLine(c.object) != "object" && strings.Contains(oneLine(match.condition), "object.") {
		c.refuse(field+".match", "make a rule of its own for deletions", "the filters read the resource, which deletions don't have")
	}
	spec, controllers := c.settings(p, rule, match), c.podControllers(p, match)
	add := func(name string, condition cel) {
		if condition != always {
			spec.MatchConditions = append(spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: name, Expression: lines(condition)})
		}
	}
	add("match", match.condition)
	spec.MatchConditions = append(spec.MatchConditions, rule.CELPreconditions...)
	s := scope{names: c.context(rule.Context, scope{}, field+".context")}
	before := always
	if raw := rule.GetAnyAllConditions(); raw != nil {
		before = c.conditions(raw, s, field+".preconditions").ok
		add("preconditions", before)
	}
	c.deletions(rule, before, field)
	if v := rule.Validation; rule.HasValidateCEL() {
		c.celCheck(v, &spec, field+".validate.cel")
	} else {
		check := c.check(at(c.object), step{v.Deny, v.GetPattern(), v.GetAnyPattern(), v.ForEachValidation}, s, 0, field+".validate")
		add("applies", check.applies)
		spec.Validations = []admissionregistrationv1.Validation{c.validation(check.ok, v.Message, s, field+".validate.message")}
	}
	if c.err != nil {
		return nil, c.err
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err == nil && controllers != nil {
		// The type would leave an empty list out.
		err = unstructured.SetNestedStringSlice(out, controllers, "autogen", "podControllers", "controllers")
	}
	return out, err
}

// deletions says what happens to a rule that names no operations. The older engine also evaluates it for deletions
// unless it has a pattern, and shows what is deleted as request.object.
func (c *converter) deletions(rule *kyvernov1.Rule, before cel, field string) {
	list, _ := filters(rule.MatchResources)
	named := !slices.ContainsFunc(list, func(filter kyvernov1.ResourceFilter) bool { return len(filter.Operations) == 0 })
	v := rule.Validation
	if named || v.GetPattern() != nil || v.GetAnyPattern() != nil {
		return
	}
	text := oneLine(before)
	about, mentions := strings.Contains(text, "request.operation"), strings.Contains(text, `"DELETE"`)
	switch {
	case about && (!mentions || strings.Contains(text, `!(request.operation == "DELETE")`)):
		// Its conditions leave deletions out.
	case about:
		c.refuse(field+".preconditions", "name the operations in match, and make a rule of its own for deletions", "the conditions tell deletions apart")
	default:
		c.note("deletions are not checked any more: the rule names no operations")
	}
}

// supported refuses rules of other kinds.
func supported(rule *kyvernov1.Rule, field string) error {
	switch v := rule.Validation; {
	case rule.HasMutate():
		return refuse(field+".mutate", "write a MutatingPolicy by hand", "rules that mutate are not converted")
	case rule.HasGenerate():
		return refuse(field+".generate", "write a GeneratingPolicy by hand", "rules that generate are not converted")
	case rule.HasVerifyImages():
		return refuse(field+".verifyImages", "write an ImageValidatingPolicy by hand", "rules that verify images are not converted")
	case v == nil:
		return refuse(field, "remove it", "the rule validates nothing")
	case rule.HasValidatePodSecurity():
		return refuse(field+".validate.podSecurity", "label the namespaces for Pod Security Admission, or take the policies of pod-security-vpol in github.com/kyverno/policies", "CEL has no function for the Pod Security Standards")
	case rule.HasVerifyManifests():
		return refuse(field+".validate.manifests", "CEL policies can't do it", "signatures of manifests have no counterpart")
	case v.DeprecatedAssert != nil:
		return refuse(field+".validate.assert", byHand, "assertions are not converted")
	case len(rule.ImageExtractors) > 0:
		return refuse(field+".imageExtractors", byHand, "extractors of images have no counterpart here")
	case len(v.FailureActionOverrides) > 0:
		return refuse(field+".validate.failureActionOverrides", "make a policy for each action, with namespaceSelector", "CEL policies have one action for all namespaces")
	default:
		return nil
	}
}

// setObject says what the resource is called: a deletion has the old one only.
func (c *converter) setObject(match matched) {
	operations := match.rules[0].Operations
	switch {
	case !slices.Contains(operations, admissionregistrationv1.Delete):
	case len(operations) == 1:
		c.object = ident("oldObject")
	default:
		c.object = choose(call(operators.NotEquals, c.object, null), c.object, ident("oldObject"))
	}
}

// settings are the fields of a spec that don't depend on what the rule checks.
func (c *converter) settings(p kyvernov1.PolicyInterface, rule *kyvernov1.Rule, match matched) policiesv1.ValidatingPolicySpec {
	old := p.GetSpec()
	spec := policiesv1.ValidatingPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: match.rules},
		MatchConditions:  slices.Clone(old.GetMatchConditions()),
		FailurePolicy:    (*admissionregistrationv1.FailurePolicyType)(old.FailurePolicy),
		ValidationAction: c.actions(old, rule),
	}
	if seconds := old.GetWebhookTimeoutSeconds(); seconds != nil {
		spec.WebhookConfiguration = &policiesv1.WebhookConfiguration{TimeoutSeconds: seconds}
	}
	if old.Background != nil || old.Admission != nil {
		spec.EvaluationConfiguration = &policiesv1.EvaluationConfiguration{}
	}
	if old.Background != nil {
		spec.EvaluationConfiguration.Background = &policiesv1.BackgroundConfiguration{Enabled: old.Background}
	}
	if old.Admission != nil {
		spec.EvaluationConfiguration.Admission = &policiesv1.AdmissionConfiguration{Enabled: old.Admission}
	}
	if len(rule.ReportProperties) > 0 {
		c.note("reportProperties have no counterpart: results don't have them any more")
	}
	return spec
}

// actions says what happens to a request that the rule is against.
func (c *converter) actions(old *kyvernov1.Spec, rule *kyvernov1.Rule) []admissionregistrationv1.ValidationAction {
	action := old.ValidationFailureAction
	if rule.Validation.FailureAction != nil {
		action = *rule.Validation.FailureAction
	}
	if action.Enforce() {
		if allowed := rule.Validation.AllowExistingViolations; allowed == nil || *allowed {
			c.note("an update of a resource that violates the policy already is denied from now on (allowExistingViolations has no counterpart)")
		}
		return []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	}
	actions := []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}
	if old.EmitWarning != nil && *old.EmitWarning {
		actions = append(actions, admissionregistrationv1.Warn)
	}
	return actions
}

// podControllers returns the controllers of pods for which Kyverno generates further policies; nil for its default.
func (c *converter) podControllers(p kyvernov1.PolicyInterface, match matched) []string {
	controllers, annotated := p.GetAnnotations()[kyverno.AnnotationAutogenControllers]
	if c.autogen && (!annotated || strings.Contains(controllers, "ReplicationController")) {
		c.note("ReplicationControllers are not checked any more: CEL policies are not generated for them")
	}
	if !match.podsOnly || c.autogen && !annotated {
		return nil
	}
	list := []string{}
	for kind := range strings.SplitSeq(controllers, ",") {
		if c.autogen && kind != "ReplicationController" {
			list = append(list, strings.ToLower(strings.TrimSpace(kind))+"s")
		}
	}
	return list
}

// validation has the expression and the message of the rule.
func (c *converter) validation(ok cel, message string, s scope, field string) admissionregistrationv1.Validation {
	validation := admissionregistrationv1.Validation{Expression: lines(ok), Message: strings.TrimSpace(message)}
	if !strings.Contains(message, "{{") {
		return validation
	}
	apart := *c // A message is no reason to refuse the rule.
	apart.err = nil
	if text := apart.template(message, s, field); apart.err == nil && text.kind != listKind {
		validation.Message, validation.MessageExpression = "", lines(textOf(text))
	} else {
		c.note("the message has variables that CEL can't show: they are shown as they are written")
		validation.Message = strings.NewReplacer("{{", "{", "}}", "}").Replace(message)
	}
	return validation
}

// celCheck takes over a check that is in CEL.
func (c *converter) celCheck(check *kyvernov1.Validation, spec *policiesv1.ValidatingPolicySpec, field string) {
	if check.CEL.HasParam() {
		c.refuse(field+".paramKind", "read the parameters with resource.Get() or resource.List()", "CEL policies of Kyverno have no parameters")
	}
	spec.Variables, spec.AuditAnnotations, spec.Validations = check.CEL.Variables, check.CEL.AuditAnnotations, slices.Clone(check.CEL.Expressions)
	for i := range spec.Validations {
		one := &spec.Validations[i]
		if strings.Contains(one.Expression, "authorizer") {
			c.refuse(fmt.Sprintf("%s.expressions[%d]", field, i), "post a SubjectAccessReview with resource.Post()", "CEL policies of Kyverno have no authorizer")
		}
		one.Message = cmp.Or(one.Message, check.Message)
	}
}
