// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Object reads an object as the controller does: numbers are int64 or float64.
func Object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatalf("%v in:\n%s", err, text)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		tb.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// Subject is an object with the resource that its kind suggests.
func Subject(tb testing.TB, text string) policy.Subject {
	tb.Helper()
	out := policy.Subject{Object: Object(tb, text)}
	out.Resource, _ = meta.UnsafeGuessKindToResource(out.Object.GroupVersionKind())
	return out
}

// Compile compiles a policy that has to be fine.
func Compile(tb testing.TB, compiler policy.Compiler, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	out := CompileAny(tb, compiler, text, exceptions...)
	if problem := out.Problem(); problem != nil {
		tb.Fatalf("%s: %v", out.Identity(), problem)
	}
	return out
}

// CompileAny compiles a policy that may have a problem.
func CompileAny(tb testing.TB, compiler policy.Compiler, text string, exceptions ...string) policy.Policy {
	tb.Helper()
	var others []*unstructured.Unstructured
	for _, exception := range exceptions {
		others = append(others, Object(tb, exception))
	}
	return compiler.Compile(Object(tb, text), others)
}

// Evaluate returns the results, without messages as "rule:outcome".
func Evaluate(tb testing.TB, p policy.Policy, s policy.Subject) ([]policy.Result, []string) {
	tb.Helper()
	results, err := p.Evaluate(tb.Context(), s)
	if err != nil {
		tb.Fatalf("%s: %v", p.Identity(), err)
	}
	outcomes := make([]string, 0, len(results))
	for _, result := range results {
		outcomes = append(outcomes, result.Rule+":"+string(result.Outcome))
	}
	return results, outcomes
}

// Want wants results that are "rule:outcome".
func Want(tb testing.TB, p policy.Policy, s policy.Subject, outcomes ...string) []policy.Result {
	tb.Helper()
	results, got := Evaluate(tb, p, s)
	if !slices.Equal(got, outcomes) {
		tb.Errorf("%s on %s %s: %v, want %v\n%+v", p.Identity(), s.Object.GetKind(), s.Object.GetName(), got, outcomes, results)
	}
	return results
}

// WantError wants one error result whose message has the parts.
func WantError(tb testing.TB, p policy.Policy, s policy.Subject, rule string, parts ...string) {
	tb.Helper()
	results, _ := Evaluate(tb, p, s)
	if len(results) != 1 || results[0].Rule != rule || results[0].Outcome != report.OutcomeError {
		tb.Fatalf("%s: %+v, want one error of rule %q", p.Identity(), results, rule)
	}
	for _, part := range parts {
		if !strings.Contains(results[0].Message, part) {
			tb.Errorf("%s: message %q lacks %q", p.Identity(), results[0].Message, part)
		}
	}
}

// WantEqual wants two values to be equal.
func WantEqual(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// ClusterPolicy puts rules into a policy for Pods.
func ClusterPolicy(rules string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n" + Indent(rules)
}

// PodRule is a rule named r that matches Pods, with what is given beside.
func PodRule(fields string) string {
	return "- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n" + Indent(fields)
}

// Indent indents lines by two spaces.
func Indent(text string) string {
	lines := strings.Split(strings.TrimRight(strings.TrimLeft(text, "\n"), "\n"), "\n")
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

// WithMatchCondition is about Pods that are not called good.
var WithMatchCondition = strings.Replace(ClusterPolicy(PodRule(Unprivileged)), "spec:\n",
	"spec:\n  webhookConfiguration: {matchConditions: [{name: other, expression: \"object.metadata.name != 'good'\"}]}\n", 1)

// Subjects, of which rules find the bad ones bad, and such a rule.
const (
	GoodPod = `
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: team, labels: {app: web}}
spec:
  containers: [{name: main, image: "registry.test/web:1.2", securityContext: {privileged: false}}]
`
	BadPod = `
apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: team}
spec:
  containers:
  - {name: main, image: "registry.test/web", securityContext: {privileged: true}}
  - {name: side, image: "registry.test/side:1"}
`
	BadDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad, namespace: team}
spec:
  template:
    metadata: {name: bad}
    spec: {containers: [{name: main, image: "registry.test/web", securityContext: {privileged: true}}]}
`
	BadCronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: bad, namespace: team}
spec:
  jobTemplate:
    spec:
      template:
        metadata: {name: bad}
        spec: {containers: [{name: main, image: "registry.test/web", securityContext: {privileged: true}}]}
`
	ConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\n"

	Unprivileged = `
validate:
  message: No privileged containers.
  pattern: {spec: {containers: [{=(securityContext): {=(privileged): "false"}}]}}
`
)
