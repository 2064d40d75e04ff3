// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/admissionpolicy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	// From Kubernetes' documentation on MutatingAdmissionPolicy.
	sidecar = `{patchType: ApplyConfiguration, applyConfiguration: {expression: '
    Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh-proxy", image: "mesh/proxy:v1.0.0", restartPolicy: "Always"}]}}'}}`
	sidecarJSON = `{patchType: JSONPatch, jsonPatch: {expression: '
    [JSONPatch{op: "add", path: "/spec/initContainers/-", value: Object.spec.initContainers{name: "mesh-proxy", image: "mesh-proxy/v1.0.0", restartPolicy: "Always"}}]'}}`
	labelled = `{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"}}`

	boundMutation = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: everywhere}, spec: {policyName: mesh}}`
)

func mutatingSpec(mutations, more string) string {
	return `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mesh}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations: [` + mutations + "]\n" + more
}

// TestMutating has the cases of Kubernetes' documentation on MutatingAdmissionPolicy.
func TestMutating(t *testing.T) {
	t.Parallel()
	pod := func(metadata, spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop" + metadata + "}, spec: {containers: [{name: c, image: i}]" + spec + "}}"
	}
	const proxy = ", initContainers: [{name: mesh-proxy, image: 'mesh/proxy:v1.0.0', restartPolicy: Always, imagePullPolicy: Always}]"
	result := func(outcome report.Outcome, message string) []policy.Result {
		return []policy.Result{{Rule: "everywhere", Outcome: outcome, Message: message, Properties: map[string]string{"mapBinding": "everywhere"}}}
	}
	applied, missing := result(report.OutcomePass, "mutation is successfully applied"), result(report.OutcomeFail, "mutation is not applied")
	for name, test := range map[string]struct {
		policy, binding, subject string
		params                   []any
		want                     []policy.Result
	}{
		"missing":              {policy: mutatingSpec(sidecar, ""), subject: pod("", ""), want: missing},
		"there":                {policy: mutatingSpec(sidecar, ""), subject: pod("", proxy), want: applied},
		"there in part":        {policy: mutatingSpec(sidecar, ""), subject: pod("", strings.Replace(proxy, "v1.0.0", "v2.0.0", 1)), want: missing},
		"beside others":        {policy: mutatingSpec(sidecar, ""), subject: pod("", strings.Replace(proxy, "[{", "[{name: first, image: i}, {", 1)), want: applied},
		"one more each time":   {policy: mutatingSpec(sidecarJSON, ""), subject: pod("", proxy), want: missing},
		"condition":            {policy: mutatingSpec(sidecarJSON, "  matchConditions: [{name: once, expression: \"!object.spec.initContainers.exists(ic, ic.name == 'mesh-proxy')\"}]"), subject: pod("", proxy)},
		"fails":                {policy: mutatingSpec(sidecarJSON, ""), subject: pod("", ""), want: result(report.OutcomeError, "binding everywhere: JSON Patch: add operation does not apply: doc is missing path: \"/spec/initContainers/-\": missing value")},
		"fails and is ignored": {policy: mutatingSpec(sidecarJSON, "  failurePolicy: Ignore"), subject: pod("", ""), want: result(report.OutcomeError, "binding everywhere: JSON Patch: add operation does not apply: doc is missing path: \"/spec/initContainers/-\": missing value")},
		"two mutations":        {policy: mutatingSpec(sidecar+", "+labelled, ""), subject: pod(", labels: {team: a}", proxy), want: applied},
		"one of two":           {policy: mutatingSpec(sidecar+", "+labelled, ""), subject: pod("", proxy), want: missing},
		"other kind":           {policy: mutatingSpec(labelled, ""), subject: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"},
		"not bound":            {policy: mutatingSpec(labelled, ""), binding: strings.Replace(boundMutation, "policyName: mesh", "policyName: other", 1), subject: pod("", "")},
		"other namespaces":     {policy: mutatingSpec(labelled, ""), binding: strings.Replace(boundMutation, "mesh}", "mesh, matchResources: {namespaceSelector: {matchLabels: {env: test}}}}", 1), subject: pod("", "")},
		"variable":             {policy: mutatingSpec(strings.Replace(labelled, "'a'}", "variables.team}", 1), "  variables: [{name: team, expression: \"'a'\"}]"), subject: pod(", labels: {team: a}", ""), want: applied},
		"namespace":            {policy: mutatingSpec(strings.Replace(labelled, "'a'}", "namespaceObject.metadata.labels.env}", 1), ""), subject: pod(", labels: {team: prod}", ""), want: applied},
		"user":                 {policy: mutatingSpec(strings.Replace(labelled, "'a'}", "request.userInfo.username}", 1), ""), subject: pod("", "")},
		"parameter": {
			policy:  mutatingSpec(strings.Replace(labelled, "'a'}", "string(params.max)}", 1), "  paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}"),
			binding: strings.Replace(boundMutation, "mesh}", "mesh, paramRef: {name: small, namespace: rules, parameterNotFoundAction: Deny}}", 1),
			subject: pod(", labels: {team: '3'}", ""), params: []any{limit("small", "rules", 3, nil)}, want: applied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.binding == "" {
				test.binding = boundMutation
			}
			compiler := admissionpolicy.NewCompiler(admissionpolicy.Config{Entries: &parameters{list: test.params}})
			// The other kind of bindings has nothing to do with it.
			other := object(t, strings.Replace(everywhere, "policyName: limit", "policyName: mesh", 1))
			compiled := compiler.Compile(object(t, test.policy), []*unstructured.Unstructured{other, object(t, test.binding)})
			testkit.NoError(t, compiled.Problem())
			subject := policy.Subject{Object: object(t, test.subject), NamespaceLabels: map[string]string{"env": "prod"}}
			got := testkit.Must(compiled.Evaluate(t.Context(), subject))(t)
			testkit.NoDiff(t, cmp.Diff(test.want, got), "results (-want +got)")
			testkit.NoDiff(t, cmp.Diff(object(t, test.subject), subject.Object), "the subject after the evaluation (-before +after)")
		})
	}
}

// TestMutatingDescription: what is said of a policy, and of one that can't be evaluated.
func TestMutatingDescription(t *testing.T) {
	t.Parallel()
	compiler := admissionpolicy.NewCompiler(admissionpolicy.Config{})
	bindings := []*unstructured.Unstructured{object(t, boundMutation)}
	compiled := compiler.Compile(object(t, mutatingSpec(labelled, "")), bindings)
	if compiled.Presentation().Source != "MutatingAdmissionPolicy" || compiled.Identity().Kind != policy.MutatingAdmissionPolicy || !compiled.Background() {
		t.Errorf("%+v, %v", compiled.Presentation(), compiled.Identity())
	}
	for text, want := range map[string]string{
		mutatingSpec("", ""): "spec.mutations is empty",
		mutatingSpec(`{patchType: JSONPatch, jsonPatch: {expression: "nothing"}}`, ""):       "spec.mutations[0].jsonPatch.expression: ",
		mutatingSpec(labelled, "  variables: [{name: a, expression: '1 +'}]"):                "spec.variables[0].expression",
		strings.Replace(mutatingSpec(labelled, ""), "matchConstraints:", "reinvocation:", 1): "spec.matchConstraints is missing",
		strings.Replace(mutatingSpec(labelled, ""), "mutations: [", "mutations: [3, ", 1):    "read MutatingAdmissionPolicy mesh",
		mutatingSpec(strings.Replace(labelled, "Object{", "Wrong{", 1), ""):                  "spec.mutations[0].applyConfiguration.expression: ",
	} {
		if err := compiler.Compile(object(t, text), bindings).Problem(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nproblem %v, want %q", text, err, want)
		}
	}
	left := compiler.Compile(object(t, mutatingSpec(strings.Replace(labelled, "'a'}", "request.userInfo.username}", 1), "")), bindings).LeftOut()
	if len(left) != 1 || !strings.HasPrefix(left[0], "spec.mutations[0].applyConfiguration.expression: request.userInfo") {
		t.Errorf("left out: %v", left)
	}
}

// TestAuditAnnotations: they are properties, whatever the outcome; an error of one is an error where the API
// server would refuse the request.
func TestAuditAnnotations(t *testing.T) {
	t.Parallel()
	const highest = "\n  auditAnnotations: [{key: high-replica-count, valueExpression: \"'Deployment spec.replicas set to ' + string(object.spec.replicas)\"}]"
	with := func(pairs ...string) map[string]string {
		properties := map[string]string{"binding": "everywhere"}
		for i := 0; i < len(pairs); i += 2 {
			properties[pairs[i]] = pairs[i+1]
		}
		return properties
	}
	small, large := limit("small", "rules", 3, nil), limit("large", "rules", 30, nil)
	for name, test := range map[string]struct {
		policy, binding string
		want            policy.Result
	}{
		"only one":   {spec(highest), everywhere, policy.Result{Outcome: report.OutcomePass, Message: "all expressions are met", Properties: with("high-replica-count", "Deployment spec.replicas set to 5")}},
		"of failure": {spec(highest + "\n  validations: [{expression: 'false', message: wrong}]"), everywhere, policy.Result{Outcome: report.OutcomeFail, Message: "wrong", Properties: with("high-replica-count", "Deployment spec.replicas set to 5")}},
		"empty":      {spec("\n  auditAnnotations: [{key: a, valueExpression: \"object.spec.replicas > 50 ? 'many' : ''\"}]"), everywhere, policy.Result{Outcome: report.OutcomePass, Message: "all expressions are met", Properties: with()}},
		"error":      {spec("\n  auditAnnotations: [{key: a, valueExpression: 'string(object.spec.nothing)'}]"), everywhere, policy.Result{Outcome: report.OutcomeError, Message: "expression 'string(object.spec.nothing)' resulted in error: no such key: nothing", Properties: with()}},
		"ignored":    {spec("\n  failurePolicy: Ignore\n  auditAnnotations: [{key: a, valueExpression: 'string(object.spec.nothing)'}]"), everywhere, policy.Result{Outcome: report.OutcomePass, Message: "all expressions are met", Properties: with()}},
		"of each parameter": {
			strings.Replace(withParams, "\n  validations: ", "\n  auditAnnotations: [{key: most, valueExpression: 'string(params.max)'}]\n  validations: ", 1),
			bound("\n  paramRef: {selector: {}, namespace: rules, parameterNotFoundAction: Deny}"),
			policy.Result{Outcome: report.OutcomeFail, Message: "at most 3", Properties: with("most", "3, 30")},
		},
	} {
		compiled := admissionpolicy.NewCompiler(admissionpolicy.Config{Entries: &parameters{list: []any{small, large}}}).Compile(object(t, test.policy), []*unstructured.Unstructured{object(t, test.binding)})
		if err := compiled.Problem(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := compiled.Evaluate(t.Context(), policy.Subject{Object: object(t, fiveReplicas), NamespaceLabels: map[string]string{"env": "prod"}})
		test.want.Rule = "everywhere"
		if diff := cmp.Diff([]policy.Result{test.want}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
