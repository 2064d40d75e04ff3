// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/engine"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	engineutils "github.com/kyverno/kyverno/pkg/engine/utils"
	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

func (p *classicPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.InScope(subject) {
		return nil, nil
	}
	rules := p.candidates(subject.Object.GroupVersionKind(), "")
	if len(rules) == 0 {
		return nil, nil
	}
	evaluation := &classicEvaluation{policy: p, view: &subjectView{policy: p, subject: subject}, rules: rules}
	if p.Evaluable() {
		return p.limits.Run(ctx, evaluation)
	}
	return base.FailFrom(evaluation, 0, nil, p.Facts.Problem), nil
}

// view is what a classic policy is evaluated for: a [subjectView] or a [requestView].
type view interface {
	// document prepares what the engine sees. It is called again after a panic.
	document() *document
	// context is the engine's view, for one rule.
	context(rule *rule, document *document) engineapi.PolicyContext
	// matches reports whether a rule is about it. It may be called beside the other methods.
	matches(rule *rule) bool
	// namespace is its namespace, perhaps with its labels only; nil if it has none.
	namespace() *corev1.Namespace
	// evaluateCEL evaluates a rule that matches and is not the engine's.
	evaluateCEL(ctx context.Context, rule *celRule) (policy.Result, error)
	// compared returns the object that is compared with patterns; nil if that is the engine's.
	compared() map[string]any
}

// classicEvaluation is the evaluation of one view, one step a rule. One goroutine runs its steps;
// fail is safe beside them.
type classicEvaluation struct {
	policy  *classicPolicy
	view    view
	rules   []*rule
	applied bool
	// The engine and what it sees are made for the first rule that needs them.
	engine   engineapi.Engine
	document *document
}

func (e *classicEvaluation) Steps() int { return len(e.rules) }

// Name is empty, or that of the rule.
func (e *classicEvaluation) Name(i int) string { return e.rules[i].Name }

// Step evaluates one step.
func (e *classicEvaluation) Step(ctx context.Context, i int) ([]policy.Result, error) {
	if e.applied && e.policy.applyOne {
		return nil, nil
	}
	rule := e.rules[i]
	if rule.cel != nil {
		return e.stepWithout(rule, func() (policy.Result, error) { return e.view.evaluateCEL(ctx, rule.cel) })
	}
	if object := e.view.compared(); rule.pattern != nil && object != nil {
		return e.stepWithout(rule, func() (policy.Result, error) { return rule.pattern.result(object), nil })
	}
	if e.engine == nil {
		e.prepare()
	}
	ctx, used := meter.With(ctx)
	e.document.begin(rule, used)
	session := e.policy.compiler.Registries.Session(reach.Scope{Namespace: e.policy.Facts.Identity.Namespace})
	if session != nil {
		ctx = registry.With(ctx, session)
	}
	var response engineapi.EngineResponse
	if rule.HasVerifyImages() {
		response, _ = e.engine.VerifyAndPatchImages(ctx, e.view.context(rule, e.document))
	} else {
		response = e.engine.Validate(ctx, e.view.context(rule, e.document))
	}
	e.applied = e.applied || response.PolicyResponse.RulesAppliedCount() > 0
	results := make([]policy.Result, 0, len(response.PolicyResponse.Rules))
	for j := range response.PolicyResponse.Rules {
		results = append(results, rule.worded(toResult(&response.PolicyResponse.Rules[j])))
	}
	if used.Spent != nil {
		return nil, used.Spent
	}
	if e.document.missing != nil && e.view.matches(rule) {
		return withoutContext(results, rule.Name, e.document.missing), nil
	}
	return base.Undecided(e.document.operands.judge(results, rule.Name), session), nil
}

// stepWithout evaluates a rule without the engine.
func (e *classicEvaluation) stepWithout(rule *rule, evaluate func() (policy.Result, error)) ([]policy.Result, error) {
	if !e.view.matches(rule) {
		return nil, nil
	}
	result, err := evaluate()
	if err != nil {
		return nil, err
	}
	e.applied = e.applied || result.Outcome == report.OutcomePass || result.Outcome == report.OutcomeFail
	return []policy.Result{result}, nil
}

func (e *classicEvaluation) prepare() {
	c := e.policy.compiler
	e.document = e.view.document()
	e.document.confined = e.policy.Facts.Identity.Namespace != ""
	cluster := true
	scope := reach.Scope{Namespace: e.policy.Facts.Identity.Namespace}
	e.engine = engine.NewEngine(
		c.settings, c.jmespath, &scopedClient{Client: c.client, scope: scope, subject: e.view.namespace()},
		newClientFactory(c.Registries, scope), nil, c.contexts, e.policy.exceptions, &cluster,
	)
}

// Fail returns the results of a rule that could not be evaluated: none if it does not match.
func (e *classicEvaluation) Fail(i int, cause error) []policy.Result {
	if !e.view.matches(e.rules[i]) {
		return nil
	}
	return []policy.Result{base.ErrorResult(e.rules[i].Name, cause)}
}

// Forget drops what a panic may have left in disorder.
func (e *classicEvaluation) Forget() { e.engine = nil }

// subjectView is a subject, for which it stands that somebody is creating it.
type subjectView struct {
	policy  *classicPolicy
	subject policy.Subject
	// shown is a copy of the subject if the engine writes it.
	shown policy.Subject
}

func (v *subjectView) document() *document {
	v.shown = v.subject
	if v.policy.writesSubject() {
		v.shown.Object = v.subject.Object.DeepCopy()
	}
	c := v.policy.compiler
	return &document{query: c.jmespath, settings: c.settings, object: v.shown.Object}
}

func (v *subjectView) context(rule *rule, document *document) engineapi.PolicyContext {
	return &policyContext{
		policy: rule.policy, document: document, new: *v.shown.Object, operation: kyvernov1.Create,
		labels: v.shown.NamespaceLabels, kind: v.shown.Object.GroupVersionKind(),
	}
}

func (v *subjectView) namespace() *corev1.Namespace { return v.subject.Namespace() }

func (v *subjectView) evaluateCEL(ctx context.Context, rule *celRule) (policy.Result, error) {
	return rule.evaluate(ctx, v.subject)
}

func (v *subjectView) compared() map[string]any { return v.subject.Object.Object }

// matches asks the engine whether a rule is about the subject. A rule whose match block can't be
// read counts as one that is.
func (v *subjectView) matches(rule *rule) bool {
	matched := true
	err := base.Protect(func() error {
		matched = engineutils.MatchesResourceDescription(
			*v.subject.Object, rule.Rule, kyvernov2.RequestInfo{}, v.subject.NamespaceLabels,
			v.policy.Facts.Identity.Namespace, v.subject.Object.GroupVersionKind(), "", kyvernov1.Create,
		) == nil
		return nil
	})
	return matched || err != nil
}
