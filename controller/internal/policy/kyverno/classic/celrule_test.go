// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestCELRulesAreAsInTheEngine evaluates CEL rules here and in Kyverno's engine, which this package
// does not use for them.
func TestCELRulesAreAsInTheEngine(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"plain":              `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'", message: Bad.}]}}`,
		"message of rule":    `validate: {message: Of the rule., cel: {expressions: [{expression: "object.metadata.name == 'good'"}]}}`,
		"no message":         `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'"}]}}`,
		"message expression": `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'", messageExpression: "'not ' + object.metadata.name"}]}}`,
		"failing message":    `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'", messageExpression: "string(object.spec.none)"}]}}`,
		"broken message":     `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'", messageExpression: "object."}]}}`,
		"several":            `validate: {cel: {expressions: [{expression: "true"}, {expression: "object.kind == 'CronJob'", message: second}]}}`,
		"missing field":      `validate: {cel: {expressions: [{expression: "object.spec.none == 1"}]}}`,
		"variables":          `validate: {cel: {variables: [{name: own, expression: object.metadata.name}], expressions: [{expression: "variables.own == 'good'"}]}}`,
		"audit annotations":  `validate: {cel: {expressions: [{expression: "true"}], auditAnnotations: [{key: k, valueExpression: "string(object.metadata.name)"}, {key: broken, valueExpression: "object."}]}}`,
		"request":            `validate: {cel: {expressions: [{expression: "request.operation == 'CREATE' && request.name == 'good'", message: "no"}]}}`,
		"old object":         `validate: {cel: {expressions: [{expression: "oldObject == null"}]}}`,
		"namespace":          `validate: {cel: {expressions: [{expression: "namespaceObject.metadata.labels.env == 'prod'", message: "no"}]}}`,
		"preconditions": `
celPreconditions: [{name: good, expression: "object.metadata.name == 'good'"}]
validate: {cel: {expressions: [{expression: "false", message: "no"}]}}
`,
		"broken preconditions": `
celPreconditions: [{name: good, expression: "object.spec.none == 1"}]
validate: {cel: {expressions: [{expression: "false", message: "no"}]}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, engine := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(fields))), compile(t, enginetest.ClusterPolicy(enginetest.PodRule(fields)))
			if here.(*classicPolicy).rules[0].cel == nil {
				t.Fatal("the rule is the engine's")
			}
			for _, text := range []string{enginetest.GoodPod, enginetest.BadPod, enginetest.BadDeployment, enginetest.BadCronJob, enginetest.ConfigMap} {
				s := enginetest.Subject(t, text)
				s.NamespaceLabels = map[string]string{"env": "prod"}
				leaveToEngine(engine, s)
				got, _ := enginetest.Evaluate(t, here, s)
				want, _ := enginetest.Evaluate(t, engine, s)
				enginetest.WantEqual(t, s.Object.GetKind()+" "+s.Object.GetName(), want, got)
				if len(want) == 0 && text != enginetest.ConfigMap {
					t.Errorf("no result for %s", s.Object.GetKind())
				}
			}
		})
	}
}

func leaveToEngine(p policy.Policy, s policy.Subject) {
	for _, rule := range p.(*classicPolicy).candidates(s.Object.GroupVersionKind(), "") {
		rule.cel, rule.pattern = nil, nil
	}
}

// TestRulesForTheEngine promises that rules with more than CEL are evaluated as a whole.
func TestRulesForTheEngine(t *testing.T) {
	t.Parallel()
	const check = `validate: {cel: {expressions: [{expression: "object.metadata.name == 'good'", message: Bad.}]}}`
	for name, test := range map[string]struct{ fields, outcome string }{
		"preconditions": {"preconditions: {all: [{key: a, operator: Equals, value: b}]}\n" + check, "r:skip"},
		"properties":    {"reportProperties: {failMessage: other}\n" + check, "r:fail"},
		"authorizer":    {`validate: {cel: {expressions: [{expression: "authorizer.group('').resource('pods').check('get').allowed()"}]}}`, "r:fail"},
	} {
		p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(test.fields)))
		if p.(*classicPolicy).rules[0].cel != nil {
			t.Errorf("%s: the rule is not the engine's", name)
		}
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), test.outcome)
	}
	enginetest.Want(t, compile(t, enginetest.ClusterPolicy(enginetest.PodRule(check)), enginetest.Exception), enginetest.Subject(t, enginetest.BadPod), "r:skip")
}
