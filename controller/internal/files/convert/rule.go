// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kyverno/kyverno/pkg/engine/anchor"
)

// checked is what a rule checks, in CEL.
type checked struct {
	// applies is false where the rule is skipped.
	applies cel
	// ok is what must be true where it applies.
	ok cel
}

// rule converts a rule to the spec of a policy.
func (c *converter) rule(p kyvernov1.PolicyInterface, rule *kyvernov1.Rule, field string) (map[string]any, error) {
	if err := supported(rule, field); err != nil {
		return nil, err
	}
	match, err := c.match(rule, field)
	if err != nil {
		return nil, err
	}
	if c.autogen && !match.podsOnly {
		return nil, refuse(field+".match", "name Pod only, or set the annotation "+kyverno.AnnotationAutogenControllers+" to none", "the rule is also about the controllers of pods, which a CEL policy is only if it is about pods alone")
	}
	c.setObject(match)
	if oneLine(c.object) != "object" && strings.Contains(oneLine(match.condition), "object.") {
		return nil, refuse(field+".match", "make a rule of its own for deletions", "the filters read the resource, which deletions don't have")
	}
	conditions := policyConditions(p)
	add := func(name string, condition cel) {
		if condition != always {
			conditions = append(conditions, map[string]any{"name": name, "expression": lines(condition)})
		}
	}
	add("match", match.condition)
	for _, condition := range rule.CELPreconditions {
		conditions = append(conditions, map[string]any{"name": condition.Name, "expression": condition.Expression})
	}
	spec := c.settings(p, rule, match)
	names, err := c.context(rule.Context, scope{}, field+".context")
	if err != nil {
		return nil, err
	}
	s := scope{names: names}
	before := always
	if raw := rule.GetAnyAllConditions(); raw != nil {
		preconditions, err := c.conditions(raw, s, field+".preconditions")
		if err != nil {
			return nil, err
		}
		before = preconditions.ok
		add("preconditions", before)
	}
	if err := c.deletions(rule, before, field); err != nil {
		return nil, err
	}
	if rule.HasValidateCEL() {
		if err := celCheck(rule, spec, field+".validate.cel"); err != nil {
			return nil, err
		}
	} else {
		v := rule.Validation
		check, err := c.check(at(c.object), step{v.Deny, v.GetPattern(), v.GetAnyPattern(), v.ForEachValidation}, s, 0, field+".validate")
		if err != nil {
			return nil, err
		}
		add("applies", check.applies)
		spec["validations"] = []any{c.validation(check.ok, rule.Validation.Message, s, field+".validate.message")}
	}
	if len(conditions) > 0 {
		spec["matchConditions"] = conditions
	}
	return spec, nil
}

// deletions says what happens to a rule that names no operations. The older engine also evaluates it for deletions
// unless it has a pattern, and shows what is deleted as request.object.
func (c *converter) deletions(rule *kyvernov1.Rule, before cel, field string) error {
	list, _ := filters(rule.MatchResources)
	named := !slices.ContainsFunc(list, func(filter kyvernov1.ResourceFilter) bool { return len(filter.Operations) == 0 })
	v := rule.Validation
	if named || v.GetPattern() != nil || v.GetAnyPattern() != nil {
		return nil
	}
	text := oneLine(before)
	about, mentions := strings.Contains(text, "request.operation"), strings.Contains(text, `"DELETE"`)
	switch {
	case about && (!mentions || strings.Contains(text, `!(request.operation == "DELETE")`)):
		return nil // Its conditions leave deletions out.
	case about:
		return refuse(field+".preconditions", "name the operations in match, and make a rule of its own for deletions", "the conditions tell deletions apart")
	default:
		c.note("deletions are not checked any more: the rule names no operations")
		return nil
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
	operations := match.rules[0].(map[string]any)["operations"].([]any)
	switch {
	case !slices.Contains(operations, any("DELETE")):
	case len(operations) == 1:
		c.object = ident("oldObject")
	default:
		c.object = choose(call(operators.NotEquals, c.object, null), c.object, ident("oldObject"))
	}
}

// policyConditions are the match conditions of the webhook.
func policyConditions(p kyvernov1.PolicyInterface) []any {
	var out []any
	for _, condition := range p.GetSpec().GetMatchConditions() {
		out = append(out, map[string]any{"name": condition.Name, "expression": condition.Expression})
	}
	return out
}

// settings are the fields of a spec that don't depend on what the rule checks.
func (c *converter) settings(p kyvernov1.PolicyInterface, rule *kyvernov1.Rule, match matched) map[string]any {
	old := p.GetSpec()
	action := old.ValidationFailureAction
	if rule.Validation.FailureAction != nil {
		action = *rule.Validation.FailureAction
	}
	actions := []any{string(admissionregistrationv1.Audit)}
	if action.Enforce() {
		actions = []any{string(admissionregistrationv1.Deny)}
		if allowed := rule.Validation.AllowExistingViolations; allowed == nil || *allowed {
			c.note("an update of a resource that violates the policy already is denied from now on (allowExistingViolations has no counterpart)")
		}
	}
	if old.EmitWarning != nil && *old.EmitWarning && !action.Enforce() {
		actions = append(actions, string(admissionregistrationv1.Warn))
	}
	spec := map[string]any{
		"matchConstraints":  map[string]any{"resourceRules": match.rules},
		"validationActions": actions,
	}
	if old.FailurePolicy != nil {
		spec["failurePolicy"] = string(*old.FailurePolicy)
	}
	if seconds := old.GetWebhookTimeoutSeconds(); seconds != nil {
		spec["webhookConfiguration"] = map[string]any{"timeoutSeconds": int64(*seconds)}
	}
	evaluation := map[string]any{}
	if old.Background != nil {
		evaluation["background"] = map[string]any{"enabled": *old.Background}
	}
	if old.Admission != nil {
		evaluation["admission"] = map[string]any{"enabled": *old.Admission}
	}
	if len(evaluation) > 0 {
		spec["evaluation"] = evaluation
	}
	c.autogenSettings(p, spec, match)
	if len(rule.ReportProperties) > 0 {
		c.note("reportProperties have no counterpart: results don't have them any more")
	}
	return spec
}

// autogenSettings says for which controllers of pods Kyverno generates further policies.
func (c *converter) autogenSettings(p kyvernov1.PolicyInterface, spec map[string]any, match matched) {
	controllers, annotated := p.GetAnnotations()[kyverno.AnnotationAutogenControllers]
	switch {
	case !match.podsOnly || c.autogen && !annotated:
	case !c.autogen:
		spec["autogen"] = map[string]any{"podControllers": map[string]any{"controllers": []any{}}}
	default:
		list := []any{}
		for kind := range strings.SplitSeq(controllers, ",") {
			if kind != "ReplicationController" {
				list = append(list, strings.ToLower(strings.TrimSpace(kind))+"s")
			}
		}
		spec["autogen"] = map[string]any{"podControllers": map[string]any{"controllers": list}}
	}
	if c.autogen && (!annotated || strings.Contains(controllers, "ReplicationController")) {
		c.note("ReplicationControllers are not checked any more: CEL policies are not generated for them")
	}
}

// step is what a rule or a step of a loop checks.
type step struct {
	deny                *kyvernov1.Deny
	pattern, anyPattern any
	loops               []kyvernov1.ForEachValidation
}

// check converts a step for the value at a place. Loops in it have the nesting.
func (c *converter) check(p place, one step, s scope, nesting int, field string) (checked, error) {
	switch {
	case one.deny != nil:
		return c.deny(one.deny, s, field+".deny.conditions")
	case one.pattern != nil:
		return c.patternCheck(p, []any{one.pattern}, field+".pattern")
	case one.anyPattern != nil:
		patterns, ok := one.anyPattern.([]any)
		if !ok {
			return checked{}, refuse(field+".anyPattern", "correct it", "it must be a list")
		}
		return c.patternCheck(p, patterns, field+".anyPattern")
	case len(one.loops) > 0:
		return c.loops(one.loops, s, nesting, field+".foreach")
	default:
		return checked{}, refuse(field, "give it a check, or remove the rule or the loop", "it checks nothing")
	}
}

func (c *converter) deny(deny *kyvernov1.Deny, s scope, field string) (checked, error) {
	if deny.GetAnyAllConditions() == nil {
		return checked{always, never}, nil // It denies everything.
	}
	denied, err := c.conditions(deny.GetAnyAllConditions(), s, field)
	if err != nil {
		return checked{}, err
	}
	return checked{always, not(denied.ok)}, nil
}

// patternCheck converts patterns of which one must match.
func (c *converter) patternCheck(p place, patterns []any, field string) (checked, error) {
	anyOK, allSkip := never, always
	for i, pattern := range patterns {
		path := field
		if len(patterns) > 1 {
			path = fmt.Sprintf("%s[%d]", field, i)
		}
		if err := c.aboutPods(p, pattern, path); err != nil {
			return checked{}, err
		}
		v, err := c.pattern(p, pattern, path)
		if err != nil {
			return checked{}, err
		}
		anyOK = or(anyOK, v.ok)
		allSkip = and(allSkip, v.skips())
	}
	if len(patterns) == 0 {
		return checked{}, refuse(field, "give it a pattern", "it is empty")
	}
	applies := not(allSkip)
	if len(patterns) > 1 && allSkip != never {
		applies = or(anyOK, applies)
	}
	return checked{applies, anyOK}, nil
}

// aboutPods refuses patterns that Kyverno can't rewrite for the controllers of pods.
func (c *converter) aboutPods(p place, pattern any, field string) error {
	fields, ok := pattern.(map[string]any)
	if !ok || !c.autogen || !same(p.root, c.object) {
		return nil
	}
	for key := range fields {
		name := key
		if a := anchor.Parse(key); a != nil {
			name = a.Key()
		}
		if name != "spec" && name != "metadata" {
			return refuse(field+"."+key, "set the annotation "+kyverno.AnnotationAutogenControllers+" to none", "the rule is also about the controllers of pods, and their templates have no %s", name)
		}
	}
	return nil
}

// loops converts foreach. A loop that has nothing to do makes the rule skip.
func (c *converter) loops(loops []kyvernov1.ForEachValidation, s scope, nesting int, field string) (checked, error) {
	allOK, applies := always, never
	for i := range loops {
		one, err := c.loop(&loops[i], s, nesting, fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return checked{}, err
		}
		allOK = and(allOK, one.ok)
		applies = or(applies, one.applies)
	}
	return checked{applies, allOK}, nil
}

func (c *converter) loop(loop *kyvernov1.ForEachValidation, s scope, nesting int, field string) (checked, error) {
	if loop.ElementScope != nil && !*loop.ElementScope {
		return checked{}, refuse(field+".elementScope", byHand, "the pattern of a loop is compared with the whole resource")
	}
	elements, err := c.jmespath(loop.List, s, field+".list")
	if err != nil {
		return checked{}, err
	}
	name := "element"
	if elements.path != nil {
		name = elements.path.elementName()
	}
	one := c.variable(name)
	element := placed(at(one))
	inner := s.with(map[string]term{"element": element, fmt.Sprintf("element%d", nesting): element})
	if inner.names, err = c.context(loop.Context, inner, field+".context"); err != nil {
		return checked{}, err
	}
	before := always
	if loop.AnyAllConditions != nil {
		preconditions, err := c.anyAll(*loop.AnyAllConditions, inner, field+".preconditions")
		if err != nil {
			return checked{}, err
		}
		before = and(preconditions.guard, preconditions.ok)
	}
	body, err := c.check(*element.path, step{loop.Deny, loop.GetPattern(), loop.GetAnyPattern(), loop.GetForEachValidation()}, inner, nesting+1, field)
	if err != nil {
		return checked{}, err
	}
	when := and(before, body.applies)
	list := listOf(elements)
	applies := exists(list, one, when)
	if when == always {
		applies = hasElements(list)
	}
	return checked{applies, every(list, one, or(not(when), body.ok))}, nil
}

// listOf returns the elements of a loop: what is no list is the only one.
func listOf(elements term) cel {
	if elements.kind == listKind || elements.path != nil && elements.path.isList() {
		return elements.elements()
	}
	return asList(elements.or(emptyList))
}

// validation has the expression and the message of the rule.
func (c *converter) validation(ok cel, message string, s scope, field string) map[string]any {
	validation := map[string]any{"expression": lines(ok)}
	switch {
	case message == "":
	case strings.Contains(message, "{{"):
		text, err := c.template(message, s, field)
		if err != nil || text.kind == listKind {
			c.note("the message has variables that CEL can't show: they are shown as they are written")
			validation["message"] = strings.NewReplacer("{{", "{", "}}", "}").Replace(message)
			break
		}
		validation["messageExpression"] = lines(textOf(text))
	default:
		validation["message"] = strings.TrimSpace(message)
	}
	return validation
}

// celCheck takes over a check that is in CEL.
func celCheck(rule *kyvernov1.Rule, spec map[string]any, field string) error {
	check := rule.Validation.CEL
	if check.HasParam() {
		return refuse(field+".paramKind", "read the parameters with resource.Get() or resource.List()", "CEL policies of Kyverno have no parameters")
	}
	var validations, variables, annotations []any
	for i, one := range check.Expressions {
		if strings.Contains(one.Expression, "authorizer") {
			return refuse(fmt.Sprintf("%s.expressions[%d]", field, i), "post a SubjectAccessReview with resource.Post()", "CEL policies of Kyverno have no authorizer")
		}
		validation := map[string]any{"expression": one.Expression}
		message := one.Message
		if message == "" {
			message = rule.Validation.Message
		}
		if message != "" {
			validation["message"] = message
		}
		if one.MessageExpression != "" {
			validation["messageExpression"] = one.MessageExpression
		}
		if one.Reason != nil {
			validation["reason"] = string(*one.Reason)
		}
		validations = append(validations, validation)
	}
	for _, one := range check.Variables {
		variables = append(variables, map[string]any{"name": one.Name, "expression": one.Expression})
	}
	for _, one := range check.AuditAnnotations {
		annotations = append(annotations, map[string]any{"key": one.Key, "valueExpression": one.ValueExpression})
	}
	for name, list := range map[string][]any{"validations": validations, "variables": variables, "auditAnnotations": annotations} {
		if len(list) > 0 {
			spec[name] = list
		}
	}
	return nil
}
