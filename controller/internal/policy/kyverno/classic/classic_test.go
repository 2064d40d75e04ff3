// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestRuleTypes says for each type of rule what the good and the bad Pod get.
func TestRuleTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ rule, good, bad, message string }{
		"pattern": {enginetest.Unprivileged, "pass", "fail", "No privileged containers. rule r failed at path /spec/containers/0/securityContext/privileged/"},
		"anyPattern": {`
validate:
  message: Tags.
  anyPattern:
  - {spec: {containers: [{image: "*:1.2"}]}}
  - {metadata: {labels: {untagged: "?*"}}}
`, "pass", "fail", "Tags."},
		"deny with preconditions": {`
preconditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: CREATE}]}
validate:
  message: "{{ request.object.metadata.name }} has no app."
  deny: {conditions: {any: [{key: "{{ request.object.metadata.labels.app || '' }}", operator: Equals, value: ""}]}}
`, "pass", "fail", "bad has no app."},
		"preconditions that are not met": {`
preconditions: {all: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: bad}]}
validate: {message: never, deny: {}}
`, "skip", "fail", "never"},
		"foreach": {`
validate:
  foreach:
  - list: request.object.spec.containers
    deny: {conditions: {any: [{key: "{{ element.image }}", operator: AnyNotIn, value: ["*:*"]}]}}
`, "pass", "fail", "validation failure"},
		"images": {`
validate:
  message: latest
  deny: {conditions: {any: [{key: latest, operator: AnyIn, value: "{{ images.containers.*.tag }}"}]}}
`, "pass", "fail", "latest"},
		"variable": {`
context: [{name: first, variable: {jmesPath: "request.object.spec.containers[0].image"}}]
validate:
  message: tag
  deny: {conditions: {any: [{key: "{{ contains(first, ':') }}", operator: Equals, value: false}]}}
`, "pass", "fail", "tag"},
		"podSecurity": {`
validate: {podSecurity: {level: baseline, version: latest}}
`, "pass", "fail", `It violates PodSecurity "baseline:latest"`},
		"cel": {`
validate:
  cel:
    expressions:
    - {expression: "object.spec.containers.all(c, c.image.contains(':'))", message: Tag them.}
`, "pass", "fail", "Tag them."},
		"cel without a message": {`
validate:
  cel: {expressions: [{expression: "has(object.metadata.labels)"}]}
`, "pass", "fail", "failed expression: has(object.metadata.labels)"},
		"missing variable": {`
validate: {pattern: {metadata: {name: "{{ request.object.metadata.annotations.none }}"}}}
`, "error", "error", "annotations"},
		"mutate": {`mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}`, "", "", ""},
		"generate": {`
generate: {apiVersion: v1, kind: ConfigMap, name: c, namespace: d, data: {data: {a: b}}}
`, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(test.rule)))
			for text, outcome := range map[string]string{enginetest.GoodPod: test.good, enginetest.BadPod: test.bad} {
				var outcomes []string
				if outcome != "" {
					outcomes = []string{"r:" + outcome}
				}
				results := enginetest.Want(t, p, enginetest.Subject(t, text), outcomes...)
				if text == enginetest.BadPod && len(results) == 1 && !strings.Contains(results[0].Message, test.message) {
					t.Errorf("message %q lacks %q", results[0].Message, test.message)
				}
			}
			enginetest.Want(t, p, enginetest.Subject(t, enginetest.ConfigMap))
		})
	}
}

func TestGeneratedRules(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadDeployment), "autogen-r:fail")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadCronJob), "autogen-cronjob-r:fail")

	limited := compile(t, strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "{name: p}",
		"{name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: CronJob}}", 1))
	enginetest.Want(t, limited, enginetest.Subject(t, enginetest.BadDeployment))
	enginetest.Want(t, limited, enginetest.Subject(t, enginetest.BadCronJob), "autogen-cronjob-r:fail")
}

func TestNamespaceSelector(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}
`+enginetest.Indent(enginetest.Unprivileged)))
	s := enginetest.Subject(t, enginetest.BadPod)
	enginetest.Want(t, p, s)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	enginetest.Want(t, p, s, "r:fail")
}

// TestNamespaceOfCELRules promises that validate.cel sees the labels of the subject.
func TestNamespaceOfCELRules(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`
validate: {cel: {expressions: [{expression: "namespaceObject.metadata.labels['env'] == 'prod'"}]}}
`)))
	s := enginetest.Subject(t, enginetest.GoodPod)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	enginetest.Want(t, p, s, "r:pass")
	s.NamespaceLabels = map[string]string{"env": "test"}
	enginetest.Want(t, p, s, "r:fail")
}

func TestPolicyInNamespace(t *testing.T) {
	t.Parallel()
	text := strings.Replace(enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), "kind: ClusterPolicy\nmetadata: {name: p}", "kind: Policy\nmetadata: {name: p, namespace: team}", 1)
	p := compile(t, text)
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, p, enginetest.Subject(t, strings.Replace(enginetest.BadPod, "namespace: team", "namespace: other", 1)))
	enginetest.Want(t, p, enginetest.Subject(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: none}\n"))

	cluster := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)))
	if p.Identity() == cluster.Identity() || p.Fingerprint() == cluster.Fingerprint() {
		t.Errorf("%s and %s can't be told apart", p.Identity(), cluster.Identity())
	}
	enginetest.WantEqual(t, "identity", policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "team", Name: "p"}, p.Identity())
}

func TestApplyOne(t *testing.T) {
	t.Parallel()
	second := strings.Replace(enginetest.PodRule(enginetest.Unprivileged), "name: r", "name: second", 1)
	text := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged) + second)
	enginetest.Want(t, compile(t, text), enginetest.Subject(t, enginetest.BadPod), "r:fail", "second:fail")
	enginetest.Want(t, compile(t, strings.Replace(text, "spec:\n", "spec:\n  applyRules: One\n", 1)), enginetest.Subject(t, enginetest.BadPod), "r:fail")
}

func TestMatchConditions(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.WithMatchCondition)
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod))
	broken := compileAny(t, strings.Replace(enginetest.WithMatchCondition, "!= 'good'", "!=", 1))
	enginetest.WantError(t, broken, enginetest.Subject(t, enginetest.BadPod), "r", "spec.webhookConfiguration.matchConditions")
}

// TestUserInfoIsIgnored promises what Kyverno's background scan does: nobody creates the subject.
func TestUserInfoIsIgnored(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [Pod]}, clusterRoles: [someone]}]}
`+enginetest.Indent(enginetest.Unprivileged)))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	asks := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`
validate:
  deny: {conditions: {any: [{key: "{{ request.userInfo.username }}", operator: Equals, value: eve}]}}
`)))
	enginetest.WantError(t, asks, enginetest.Subject(t, enginetest.BadPod), "r", "userInfo")
}

func TestMessagesAndProperties(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`
reportProperties: {failMessage: "told {{ request.object.metadata.name }}", team: blue}
`+enginetest.Unprivileged)))
	results := enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.WantEqual(t, "message", "told bad", results[0].Message)
	enginetest.WantEqual(t, "properties", map[string]string{"failMessage": "told bad", "team": "blue"}, results[0].Properties)

	standard := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`validate: {podSecurity: {level: baseline, version: latest}}`)))
	results = enginetest.Want(t, standard, enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.WantEqual(t, "properties", map[string]string{
		"standard": "baseline", "version": "latest", "controls": "privileged",
		"controlsJSON": `[{"ID":"privileged","Name":"Privileged Containers","Images":["registry.test/web:latest"]}]`,
	}, results[0].Properties)
}

func TestManyRules(t *testing.T) {
	t.Parallel()
	const rules = 2000
	var text strings.Builder
	for i := range rules {
		text.WriteString(strings.Replace(enginetest.PodRule(enginetest.Unprivileged), "name: r", fmt.Sprintf("name: r%d", i), 1))
	}
	results, _ := enginetest.Evaluate(t, compile(t, enginetest.ClusterPolicy(text.String())), enginetest.Subject(t, enginetest.BadPod))
	if len(results) != rules {
		t.Fatalf("%d results for %d rules", len(results), rules)
	}
	for i, result := range results {
		if result.Rule != fmt.Sprintf("r%d", i) || result.Outcome != report.OutcomeFail {
			t.Fatalf("result %d is %+v", i, result)
		}
	}
}

func TestLargeResource(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(`
- name: r
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  context: [{name: copied, variable: {jmesPath: request.object}}]
  validate:
    deny: {conditions: {any: [{key: "{{ length(copied.data.big) }}", operator: LessThan, value: 1000000}]}}
`))
	s := enginetest.Subject(t, enginetest.ConfigMap)
	s.Object.Object["data"] = map[string]any{"big": strings.Repeat("x", 3<<20)}
	enginetest.Want(t, p, s, "r:pass")
}
