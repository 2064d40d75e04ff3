// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// mutatingText is a policy for Pods.
func mutatingText(mutations, more string) string {
	return `
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: m}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations: [` + mutations + "]\n" + more
}

const (
	addLabel = `{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"}}`
	pullOnce = `{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'IfNotPresent'})}}"}}`
	addJSON  = `{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"}}`
	failing  = `{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'remove', path: '/metadata/annotations/none'}]"}}`
)

// TestMutationsAsInKyverno compares results, with their messages, with those of the scanner of Kyverno's
// reports controller.
func TestMutationsAsInKyverno(t *testing.T) {
	pod := func(metadata, container string) policy.Subject {
		return enginetest.Subject(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team"+metadata+"}, spec: {containers: [{name: c, image: i"+container+"}], priority: 7}}")
	}
	plain, labelled, once := pod("", ""), pod(", labels: {team: a, x: z}", ""), pod("", ", imagePullPolicy: IfNotPresent")
	deployment := enginetest.Subject(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team}, spec: {template: {metadata: {labels: {team: a}}, spec: {containers: [{name: c, image: i, imagePullPolicy: IfNotPresent}]}}}}")
	for _, test := range []struct {
		name, policy string
		subject      policy.Subject
		want         string
	}{
		{"label, missing", mutatingText(addLabel, ""), plain, ":fail"},
		{"label, there", mutatingText(addLabel, ""), labelled, ":pass"},
		{"list, missing", mutatingText(pullOnce, ""), plain, ":fail"},
		{"list, there", mutatingText(pullOnce, ""), once, ":pass"},
		{"JSON patch, missing", mutatingText(addJSON, ""), plain, ":fail"},
		{"JSON patch, there", mutatingText(addJSON, ""), pod(", annotations: {a: b}", ""), ":pass"},
		{"two, one missing", mutatingText(addLabel+", "+addJSON, ""), labelled, ":fail"},
		{"two, both there", mutatingText(addLabel+", "+addJSON, ""), pod(", labels: {team: a}, annotations: {a: b}", ""), ":pass"},
		{"fails", mutatingText(failing, ""), plain, "evaluation:error"},
		{"match condition", mutatingText(addLabel, `  matchConditions: [{name: other, expression: "object.metadata.name == 'other'"}]`), plain, ":skip"},
		{"other kind", mutatingText(addLabel, ""), enginetest.Subject(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team}}"), ""},
		{"variable", mutatingText(strings.Replace(addLabel, "'a'}", "variables.team}", 1), `  variables: [{name: team, expression: "'a'"}]`), labelled, ":pass"},
		{"audit annotation", mutatingText(addLabel, `  auditAnnotations: [{key: pod, valueExpression: "'pod ' + string(object.metadata.name)"}]`), labelled, ":pass"},
		{"workload", mutatingText(pullOnce, "  autogen: {podControllers: {controllers: [deployments]}}"), deployment, ":pass"},
		{"workload, missing", mutatingText(strings.Replace(pullOnce, "IfNotPresent", "Always", 1), "  autogen: {podControllers: {controllers: [deployments]}}"), deployment, ":fail"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := compile(t, test.policy)
			before := test.subject.Object.DeepCopy()
			got := scanned(t, p, test.subject)
			enginetest.WantEqual(t, "the subject after the evaluation", before.Object, test.subject.Object.Object)
			enginetest.WantEqual(t, "Kyverno's scan and ours", kyvernoScan(t, test.policy, test.subject, mutation.NewSchemas(nil)), got)
			if _, outcomes := enginetest.Evaluate(t, p, test.subject); strings.Join(outcomes, " ") != test.want {
				t.Errorf("%v, want %q", got, test.want)
			}
			if admission := p.Admission(); admission.Enabled {
				t.Errorf("requests: %+v", admission)
			}
		})
	}
}

// TestMutatingPolicies: namespaced ones, exceptions, and those that can't be evaluated.
func TestMutatingPolicies(t *testing.T) {
	t.Parallel()
	plain := enginetest.Subject(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {containers: [{name: c, image: i}]}}")
	namespaced := strings.NewReplacer("kind: Mutating", "kind: NamespacedMutating", "{name: m}", "{name: m, namespace: team}").Replace(mutatingText(addLabel, ""))
	enginetest.Want(t, compile(t, namespaced), plain, ":fail")
	enginetest.Want(t, compile(t, strings.Replace(namespaced, "namespace: team", "namespace: other", 1)), plain)
	enginetest.Want(t, compile(t, mutatingText(addLabel, ""),
		"{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: e, namespace: team}, spec: {policyRefs: [{name: m, kind: MutatingPolicy}]}}"), plain, "exception:skip")
	for name, test := range map[string]struct{ policy, message string }{
		"no mutation": {mutatingText("", ""), "spec.mutations is empty"},
		"wrong CEL":   {mutatingText(`{patchType: JSONPatch, jsonPatch: {expression: "nothing"}}`, ""), "undeclared reference"},
	} {
		p := compileAny(t, test.policy)
		if problem := p.Problem(); problem == nil || !strings.Contains(problem.Error(), test.message) {
			t.Errorf("%s: %v", name, problem)
		}
		enginetest.WantError(t, p, plain, "", test.message)
	}
	unknown := compile(t, mutatingText(addLabel, "  surprise: true"))
	if doubt := unknown.Doubt(); doubt == nil || !strings.Contains(doubt.Error(), "spec.surprise") {
		t.Errorf("doubt: %v", doubt)
	}
}

// TestMutationBombs: what an expression makes is bounded.
func TestMutationBombs(t *testing.T) {
	t.Parallel()
	bomb := `{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': lists.range(10000000).map(i, 'xxxxxxxxxx').join(',')}}]"}}`
	plain := enginetest.Subject(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {containers: [{name: c, image: i}]}}")
	enginetest.WantError(t, compile(t, mutatingText(bomb, "")), plain, "", "lists.range")
}

// TestSourceOfPolicies: results name the engine as Kyverno's reports do.
func TestSourceOfPolicies(t *testing.T) {
	t.Parallel()
	for kind, source := range map[string]string{
		policy.MutatingPolicy: "KyvernoMutatingPolicy", policy.NamespacedMutatingPolicy: "KyvernoMutatingPolicy",
		policy.ImageValidatingPolicy: "KyvernoImageValidatingPolicy", policy.NamespacedImageValidatingPolicy: "KyvernoImageValidatingPolicy",
		policy.ValidatingPolicy: "KyvernoValidatingPolicy", policy.ClusterPolicy: "kyverno",
	} {
		text := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policies.kyverno.io/v1", "kind": kind}}
		if got := compiler(t).Compile(text, nil).Presentation().Source; got != source {
			t.Errorf("%s: %q, want %q", kind, got, source)
		}
	}
}
