// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestPatternRulesAreAsInTheEngine evaluates rules with patterns here and in Kyverno's engine, which this package
// does not use for them.
func TestPatternRulesAreAsInTheEngine(t *testing.T) {
	t.Parallel()
	fields := map[string]string{
		"name":              `validate: {message: Bad name, pattern: {metadata: {name: good}}}`,
		"no message":        `validate: {pattern: {metadata: {name: good}}}`,
		"sentence":          `validate: {message: Bad name., pattern: {metadata: {name: good | fine}}}`,
		"missing":           `validate: {message: Bad, pattern: {spec: {none: "?*"}}}`,
		"structure":         `validate: {message: Bad, pattern: {spec: {containers: {name: "*"}}}}`,
		"list":              `validate: {message: Bad, pattern: {spec: {containers: []}}}`,
		"condition":         `validate: {message: Bad, pattern: {spec: {(hostNetwork): "true", containers: [{image: "*:*"}]}}}`,
		"global":            `validate: {message: Bad, pattern: {spec: {containers: [{<(image): "*none*", name: x}]}}}`,
		"equality":          `validate: {message: Bad, pattern: {spec: {=(hostNetwork): "false"}}}`,
		"negation":          `validate: {message: Bad, pattern: {spec: {X(hostNetwork): "null"}}}`,
		"existence":         `validate: {message: Bad, pattern: {spec: {^(containers): [{name: main}]}}}`,
		"wildcard label":    `validate: {message: Bad, pattern: {metadata: {=(labels): {"a*": "?*"}}}}`,
		"wildcard in key":   `validate: {message: Bad, pattern: {=(metadata): {=(annotations): {"=(a*/b)": "?*"}}}}`,
		"numbers":           `validate: {message: Bad, pattern: {spec: {=(terminationGracePeriodSeconds): 30, containers: [{=(ports): [{containerPort: ">1024"}]}]}}}`,
		"any":               `validate: {message: Bad, anyPattern: [{metadata: {name: good}}, {metadata: {namespace: other}}]}`,
		"any, no message":   `validate: {anyPattern: [{metadata: {name: none}}, {spec: {none: "?*"}}]}`,
		"any, sentence":     `validate: {message: Bad., anyPattern: [{metadata: {name: none}}]}`,
		"any, skipped":      `validate: {message: Bad, anyPattern: [{spec: {(hostNetwork): "maybe"}}]}`,
		"any, wildcard":     `validate: {message: Bad, anyPattern: [{metadata: {labels: {"a*": x}}}, {metadata: {labels: {"ap*": good}}}]}`,
		"any, skip or fail": `validate: {message: Bad, anyPattern: [{spec: {(hostNetwork): "maybe"}}, {metadata: {name: none}}]}`,
	}
	for name, validate := range fields {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, engine := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(validate))), compile(t, enginetest.ClusterPolicy(enginetest.PodRule(validate)))
			if here.(*classicPolicy).rules[0].pattern == nil {
				t.Fatal("the rule is the engine's")
			}
			for range 2 { // The second time with what the first one has left.
				for _, text := range []string{enginetest.GoodPod, enginetest.BadPod, enginetest.BadDeployment, enginetest.BadCronJob, enginetest.LargePod, enginetest.ConfigMap} {
					s := enginetest.Subject(t, text)
					leaveToEngine(engine, s)
					got, _ := enginetest.Evaluate(t, here, s)
					want, _ := enginetest.Evaluate(t, engine, s)
					enginetest.WantEqual(t, s.Object.GetKind()+" "+s.Object.GetName(), want, got)
					if len(want) == 0 && text != enginetest.ConfigMap {
						t.Errorf("no result for %s", s.Object.GetKind())
					}
				}
			}
		})
	}
}

// TestPatternRulesOfTheEngine promises that rules with more than patterns are evaluated as a whole.
func TestPatternRulesOfTheEngine(t *testing.T) {
	t.Parallel()
	const check = `validate: {message: Bad, pattern: {metadata: {name: good}}}`
	for name, test := range map[string]struct{ fields, outcome string }{
		"preconditions": {"preconditions: {all: [{key: a, operator: Equals, value: b}]}\n" + check, "r:skip"},
		"properties":    {"reportProperties: {failMessage: other}\n" + check, "r:fail"},
		"variable":      {`validate: {message: Bad, pattern: {metadata: {name: "{{ request.object.metadata.name }}"}}}`, "r:pass"},
		"message":       {`validate: {message: "{{ request.object.metadata.name }}", pattern: {metadata: {name: good}}}`, "r:fail"},
		"reference":     {`validate: {message: Bad, pattern: {metadata: {name: "?*", namespace: "$(./../name)"}}}`, "r:pass"},
		"context":       {"context: [{name: a, variable: {value: b}}]\n" + check, "r:fail"},
	} {
		p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(test.fields)))
		if p.(*classicPolicy).rules[0].pattern != nil {
			t.Errorf("%s: the rule is not the engine's", name)
		}
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), test.outcome)
	}
	enginetest.Want(t, compile(t, enginetest.ClusterPolicy(enginetest.PodRule(check)), enginetest.Exception), enginetest.Subject(t, enginetest.BadPod), "r:skip")
}
