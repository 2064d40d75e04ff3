// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/autogen"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	policyvalidation "github.com/kyverno/kyverno/pkg/validation/policy"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// classicPolicy is a ClusterPolicy or a Policy.
type classicPolicy struct {
	base.Common
	compiler *Compiler
	limits   *base.Limits
	// exceptions may be a nil interface, which costs nothing.
	exceptions engineapi.PolicyExceptionSelector
	applyOne   bool
	decoded    kyvernov1.PolicyInterface
	// rules are those that the user has written.
	rules []*rule
	// covered has the names of all rules, including generated ones, and whether they are evaluated.
	covered map[string]bool
	// byKind remembers, for each servedKind, the []*rule that can match it. A cluster has a few hundred of them.
	byKind sync.Map
}

// writesSubject reports whether the engine sets the kind of the object that it is given, which others
// may be reading: it does for the match conditions of webhooks.
func (p *classicPolicy) writesSubject() bool {
	return p.decoded.GetSpec().GetMatchConditions() != nil
}

// rule is a rule in a policy of its own: so a panic or a timeout is that of one rule, and the
// engine does not generate rules again in each evaluation.
type rule struct {
	kyvernov1.Rule
	policy  kyvernov1.PolicyInterface
	targets []policy.Target
	// operations are those at which the rule can say something; none if requests are not its matter.
	operations []admissionv1.Operation
	// cel is set if this package evaluates the rule and not the engine; pattern, if it does in scans.
	cel     *celRule
	pattern *patternRule
	// texts gives messages the user's words for what [narrow] and [mark] have written; nil if they have not.
	texts *strings.Replacer
	// whole are the expressions of which the rule takes the results as they are.
	whole map[string]bool
	// marks are the operands in policy, which has variables in their place; nil if it has the operands.
	marks *marks
}

func (c *Compiler) compileClassic(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	referring, ignored := c.Counting(object, classicExceptions(object, all))
	described := base.Describe(object, referring)
	described.Facts.Ignored = ignored
	known := object.DeepCopy()
	problem := translate(known)
	described.Facts.Doubt = base.UnknownFieldsError(unknownFields(known))
	named := base.Unique(kindTargets(rawKinds(object)))
	described.Facts.Admission.Targets = requestTargets(named)
	decoded, err := decodeClassic(known)
	if err != nil {
		return described.Broken(named, errors.Join(problem, err))
	}
	out := &classicPolicy{
		Common: described, compiler: c, limits: c.Limits(), decoded: decoded,
		applyOne: decoded.GetSpec().GetApplyRules() == kyvernov1.ApplyOne,
	}
	out.Facts.Admission.Roles = readsRoles(append(referring, object))
	if problem == nil {
		problem = base.Protect(func() error { return c.check(decoded) })
	}
	if err := base.Protect(out.split); err != nil {
		return described.Broken(named, fmt.Errorf("cannot generate the rules for workloads: %w", err))
	}
	if out.exceptions, err = newSelector(referring); err != nil {
		problem = errors.Join(problem, err)
	}
	out.Facts.Problem = errors.Join(problem, base.Protect(func() error { return out.compileRules(out.rules) }))
	if out.Facts.Problem == nil {
		out.Facts.Entries = entriesOf(decoded.GetSpec().Rules)
	}
	return out
}

// decodeClassic returns a policy as the API server would store it.
func decodeClassic(object *unstructured.Unstructured) (kyvernov1.PolicyInterface, error) {
	object = object.DeepCopy()
	setDefaults(object.Object["spec"])
	if object.GetKind() == policy.NamespacedPolicy {
		decoded := &kyvernov1.Policy{}
		return decoded, base.Decode(object, decoded)
	}
	decoded := &kyvernov1.ClusterPolicy{}
	return decoded, base.Decode(object, decoded)
}

// setDefaults sets the defaults of Kyverno's schema that the engine itself does not know: the method
// of API calls, without which it refuses them, and what is done with images.
func setDefaults(value any) {
	switch typed := value.(type) {
	case []any:
		for _, item := range typed {
			setDefaults(item)
		}
	case map[string]any:
		for _, item := range typed {
			setDefaults(item)
		}
		images, _ := typed["verifyImages"].([]any)
		for _, item := range images {
			for _, field := range []string{"mutateDigest", "verifyDigest", "required", "useCache"} {
				if image, ok := item.(map[string]any); ok && image[field] == nil {
					image[field] = true
				}
			}
		}
		entries, _ := typed["context"].([]any)
		for _, item := range entries {
			entry, _ := item.(map[string]any)
			if call, ok := entry["apiCall"].(map[string]any); ok && call["method"] == nil {
				call["method"] = "GET"
			}
		}
	}
}

// check applies Kyverno's own validation, as its admission webhook and its command line tool do.
// A policy that only breaks a rule about policies, not one about what can be evaluated, passes:
// it may have been stored before the rule existed.
func (c *Compiler) check(decoded kyvernov1.PolicyInterface) error {
	spec := decoded.GetSpec()
	if len(spec.Rules) == 0 {
		return errors.New("spec.rules is empty: give the policy a rule")
	}
	if conditions := spec.GetMatchConditions(); conditions != nil {
		if err := policyvalidation.ValidateCustomWebhookMatchConditions(conditions); err != nil {
			return fmt.Errorf("spec.webhookConfiguration.matchConditions: %w", err)
		}
	}
	if err := errors.Join(checkManifests(decoded), checkKeys(decoded)); err != nil {
		return err
	}
	tolerant := decoded.CreateDeepCopy()
	// Long names, variables of requests, and kinds that can only be seen at admission.
	tolerant.SetName("policy")
	off, on := false, true
	content := tolerant.GetSpec()
	content.Background, content.Admission, content.WebhookConfiguration = &off, &on, nil
	var kept []kyvernov1.Rule
	for _, rule := range content.Rules {
		if c.evaluates(&rule) {
			for i := range rule.VerifyImages {
				rule.VerifyImages[i].MutateDigest = false // What its default is, is refused with Audit.
			}
			kept = append(kept, rule)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	content.Rules = kept
	// The last argument names an account and switches the validation of patterns on.
	if _, err := policyvalidation.Validate(tolerant, nil, nil, true, "", "docket"); err != nil {
		return fmt.Errorf("the policy is invalid: %w", err)
	}
	return nil
}

// checkManifests refuses signatures of manifests where they would reach further than policies may:
// the library that checks them has clients of its own, for registries and for dry runs.
func checkManifests(decoded kyvernov1.PolicyInterface) error {
	for i := range decoded.GetSpec().Rules {
		rule := &decoded.GetSpec().Rules[i]
		if !rule.HasVerifyManifests() {
			continue
		}
		if decoded.IsNamespaced() {
			return fmt.Errorf("rule %s: validate.manifests: a namespaced policy may not ask registries: use a ClusterPolicy", rule.Name)
		}
		if rule.Validation.Manifests.DryRunOption.Enable {
			return fmt.Errorf("rule %s: validate.manifests.dryRun: policies write nothing, not even in a dry run: remove it", rule.Name)
		}
	}
	return nil
}

// evaluates reports whether rules of this type are evaluated for resources.
func (c *Compiler) evaluates(rule *kyvernov1.Rule) bool {
	return rule.HasValidate() || c.Registries != nil && rule.HasVerifyImages()
}

// leftOut says which rules are not evaluated, and why.
func (c *Compiler) leftOut(rules []kyvernov1.Rule) []string {
	var reasons []string
	for i := range rules {
		rule := &rules[i]
		if c.evaluates(rule) {
			continue
		}
		kind := "it has nothing to validate"
		switch {
		case rule.HasMutate():
			kind = "mutate is not evaluated"
		case rule.HasGenerate():
			kind = "generate is not evaluated"
		case rule.HasVerifyImages():
			kind = base.ErrNoImages.Error()
		}
		reasons = append(reasons, fmt.Sprintf("rule %s: %s", rule.Name, kind))
	}
	return reasons
}

// split makes a policy of each rule. Those that Kyverno generates for workloads follow when there
// is a workload; their targets are known before.
func (p *classicPolicy) split() error {
	written := p.decoded.GetSpec().Rules
	p.rules = p.separate(written)
	p.Facts.LeftOut = p.compiler.leftOut(written)
	var targets []policy.Target
	for _, rule := range p.rules {
		targets = append(targets, rule.targets...)
	}
	all := autogen.Default.ComputeRules(p.decoded, "")
	p.covered = make(map[string]bool, len(all))
	for i := range all {
		p.covered[all[i].Name] = p.compiler.evaluates(&all[i])
		if p.covered[all[i].Name] {
			targets = append(targets, ruleTargets(all[i].MatchResources)...)
		}
	}
	p.Facts.Targets = base.Unique(targets)
	p.Facts.Admission = p.admissionOf(all)
	return nil
}

// compileRules compiles the checks that are in CEL, and reads patterns. The rules whose evaluation is left to the
// engine are compiled for the errors only: the engine reports them as failures of the resource.
func (p *classicPolicy) compileRules(rules []*rule) error {
	var problems []error
	alone := p.exceptions == nil && !p.writesSubject()
	for _, rule := range rules {
		if alone {
			rule.pattern = newPatternRule(&rule.Rule, !p.compiler.CompatibleOperands)
		}
		if rule.Validation == nil || !rule.HasValidateCEL() {
			continue
		}
		compiled, err := newCELRule(&rule.Rule, p.Facts.Identity.Kind, p.Facts.Identity.Name)
		if err != nil {
			problems = append(problems, err)
		} else if alone && soleCEL(&rule.Rule) {
			rule.cel = compiled
		}
	}
	return errors.Join(problems...)
}

// sameRules compares names: rules are generated with a name of their own.
func sameRules(a, b []kyvernov1.Rule) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

// separate makes a policy of each rule that is evaluated.
func (p *classicPolicy) separate(rules []kyvernov1.Rule) []*rule {
	decoded := p.decoded
	meta := metav1.ObjectMeta{
		Name: decoded.GetName(), Namespace: decoded.GetNamespace(),
		// The rules are generated already.
		Annotations: map[string]string{kyverno.AnnotationAutogenControllers: "none"},
	}
	out := make([]*rule, 0, len(rules))
	for i := range rules {
		if !p.compiler.evaluates(&rules[i]) {
			continue
		}
		one := rules[i].DeepCopy()
		matchResize(one)
		fillMessages(one)
		texts := narrow(one)
		shown, marks := one, (*marks)(nil)
		if !p.compiler.CompatibleOperands {
			shown = one.DeepCopy()
			marks = mark(shown)
			texts = append(texts, marks.texts...)
		}
		spec := *decoded.GetSpec()
		spec.Rules = []kyvernov1.Rule{*shown}
		var alone kyvernov1.PolicyInterface = &kyvernov1.ClusterPolicy{ObjectMeta: meta, Spec: spec}
		if decoded.IsNamespaced() {
			alone = &kyvernov1.Policy{ObjectMeta: meta, Spec: spec}
		}
		out = append(out, &rule{
			Rule: *one, policy: alone, texts: replacerOf(texts), targets: base.Unique(ruleTargets(rules[i].MatchResources)),
			operations: ruleOperations(&rules[i]), whole: wholeExpressions(one), marks: marks,
		})
	}
	return out
}

// fillMessages does what the engine does in each evaluation, which would be a race: it gives CEL
// expressions without a message that of the rule. A message of one space counts as none later.
func fillMessages(rule *kyvernov1.Rule) {
	if rule.Validation == nil || rule.Validation.CEL == nil {
		return
	}
	message := rule.Validation.Message
	if message == "" {
		message = " "
	}
	for i := range rule.Validation.CEL.Expressions {
		if expression := &rule.Validation.CEL.Expressions[i]; expression.Message == "" {
			expression.Message = message
		}
	}
}

// servedKind is a kind, or one of its subresources, which may have objects of another kind.
type servedKind struct {
	schema.GroupVersionKind
	subresource string
}

// candidates returns the rules that can match a kind, or a subresource of it.
func (p *classicPolicy) candidates(kind schema.GroupVersionKind, subresource string) []*rule {
	key := servedKind{kind, subresource}
	if known, ok := p.byKind.Load(key); ok {
		return known.([]*rule)
	}
	rules := p.rules
	if all := autogen.Default.ComputeRules(p.decoded, kind.Kind); !sameRules(all, p.decoded.GetSpec().Rules) {
		rules = p.separate(all)
		// What does not compile is left to the engine, which says so in its results.
		if err := base.Protect(func() error { return p.compileRules(rules) }); err != nil {
			klog.V(base.VerboseLevel).InfoS("A generated rule does not compile", "policy", p.Facts.Identity.String(), "err", err)
		}
	}
	var out []*rule
	for _, rule := range rules {
		if base.Requested(requestTargets(rule.targets), kind, "", subresource) {
			out = append(out, rule)
		}
	}
	p.byKind.Store(key, out)
	return out
}

func (p *classicPolicy) Coverage() policy.Coverage { return policy.Coverage{Rules: p.covered} }
