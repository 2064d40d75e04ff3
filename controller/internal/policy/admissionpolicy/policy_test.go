// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/admissionpolicy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// object reads an object as the controller does: numbers are int64 or float64.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// parameters is a context cache with a list.
type parameters struct {
	list []any
	err  error
}

func (p *parameters) Query(_ context.Context, query policy.Query) (any, error) {
	if query.Expression != "items" {
		return nil, fmt.Errorf("%+v asks not for the items of the list", query)
	}
	return p.list, p.err
}

const (
	deployments = `
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}`
	fiveReplicas = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {team: a}}
spec: {replicas: 5}`
	limited = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  failurePolicy: Fail` + deployments + `
  validations: [{expression: "object.spec.replicas <= 3"}]`
	everywhere = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: limit, validationActions: [Deny]}`
	withParams = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}` + deployments + `
  validations: [{expression: "object.spec.replicas + 1 <= params.max + 1", messageExpression: "'at most ' + string(params.max)"}]`
	namedParam = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: limit, validationActions: [Deny], paramRef: {name: small, namespace: rules, parameterNotFoundAction: Deny}}`
)

func limit(name, namespace string, most float64, labels map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "rules.example.com/v1", "kind": "ReplicaLimit", "max": most,
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": labels},
	}
}

func spec(text string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: limit}\nspec:" + deployments + text
}

func bound(text string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: everywhere}\nspec:\n  policyName: limit\n  validationActions: [Deny]" + text
}

// TestEvaluate has the cases of Kubernetes' documentation on ValidatingAdmissionPolicy, and those in
// which the API server refuses a request for a reason of its own.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	result := func(outcome report.Outcome, message string) []policy.Result {
		return []policy.Result{{Rule: "everywhere", Outcome: outcome, Message: message, Properties: map[string]string{"binding": "everywhere"}}}
	}
	small, large := limit("small", "rules", 3, nil), limit("large", "rules", 30, map[string]any{"size": "large"})
	tests := map[string]struct {
		policy, binding, subject string
		params                   []any
		paramsErr                error
		want                     []policy.Result
	}{
		"not met":          {policy: limited, binding: everywhere, want: result(report.OutcomeFail, "failed expression: object.spec.replicas <= 3")},
		"met":              {policy: spec("\n  validations: [{expression: 'object.spec.replicas < 9'}]"), binding: everywhere, want: result(report.OutcomePass, "all expressions are met")},
		"message":          {policy: spec("\n  validations: [{expression: 'false', message: too many}]"), binding: everywhere, want: result(report.OutcomeFail, "too many")},
		"two messages":     {policy: spec("\n  validations: [{expression: 'false', message: a}, {expression: 'false', message: b}]"), binding: everywhere, want: result(report.OutcomeFail, "a; b")},
		"expression":       {policy: spec("\n  validations: [{expression: 'false', messageExpression: \"object.metadata.name + ' is wrong'\"}]"), binding: everywhere, want: result(report.OutcomeFail, "web is wrong")},
		"variable":         {policy: spec("\n  variables: [{name: twice, expression: 'object.spec.replicas * 2'}]\n  validations: [{expression: 'variables.twice == 10'}]"), binding: everywhere, want: result(report.OutcomePass, "all expressions are met")},
		"condition":        {policy: spec("\n  matchConditions: [{name: a, expression: \"object.metadata.name != 'web'\"}]\n  validations: [{expression: 'false'}]"), binding: everywhere},
		"error":            {policy: spec("\n  validations: [{expression: 'object.spec.nothing > 1'}]"), binding: everywhere, want: result(report.OutcomeError, "expression 'object.spec.nothing > 1' resulted in error: no such key: nothing")},
		"ignored error":    {policy: spec("\n  failurePolicy: Ignore\n  validations: [{expression: 'object.spec.nothing > 1'}]"), binding: everywhere, want: result(report.OutcomeError, "expression 'object.spec.nothing > 1' resulted in error: no such key: nothing")},
		"namespace":        {policy: spec("\n  validations: [{expression: \"namespaceObject.metadata.labels.env == 'prod'\"}]"), binding: everywhere, want: result(report.OutcomePass, "all expressions are met")},
		"other kind":       {policy: limited, binding: everywhere, subject: "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}"},
		"other namespaces": {policy: limited, binding: bound("\n  matchResources: {namespaceSelector: {matchLabels: {env: test}}}")},
		"this namespace":   {policy: limited, binding: bound("\n  matchResources: {namespaceSelector: {matchLabels: {env: prod}}}"), want: result(report.OutcomeFail, "failed expression: object.spec.replicas <= 3")},
		"other objects":    {policy: limited, binding: bound("\n  matchResources: {objectSelector: {matchLabels: {team: b}}}")},
		"excluded":         {policy: limited, binding: bound("\n  matchResources: {excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], resourceNames: [web]}]}")},
		"not bound":        {policy: limited, binding: strings.Replace(everywhere, "policyName: limit", "policyName: other", 1)},
		"only updates":     {policy: strings.Replace(limited, "CREATE, UPDATE", "UPDATE", 1), binding: everywhere},
		"user":             {policy: spec("\n  validations: [{expression: \"request.userInfo.username == 'x'\"}]"), binding: everywhere},
		"rights":           {policy: spec("\n  validations: [{expression: \"authorizer.group('').resource('pods').check('get').allowed()\"}]"), binding: everywhere},
		"parameter":        {policy: withParams, binding: namedParam, params: []any{large, small}, want: result(report.OutcomeFail, "at most 3")},
		"no parameter":     {policy: withParams, binding: namedParam, params: []any{large}, want: result(report.OutcomeError, "binding everywhere: no params found for policy binding with `Deny` parameterNotFoundAction")},
		"allowed without":  {policy: withParams, binding: strings.Replace(namedParam, "Action: Deny", "Action: Allow", 1)},
		"selected":         {policy: withParams, binding: bound("\n  paramRef: {selector: {matchLabels: {size: large}}, namespace: rules, parameterNotFoundAction: Deny}"), params: []any{small, large}, want: result(report.OutcomePass, "all expressions are met")},
		"all selected":     {policy: withParams, binding: bound("\n  paramRef: {selector: {}, namespace: rules, parameterNotFoundAction: Deny}"), params: []any{small, large}, want: result(report.OutcomeFail, "at most 3")},
		"own namespace":    {policy: withParams, binding: bound("\n  paramRef: {name: small, parameterNotFoundAction: Allow}"), params: []any{small, limit("small", "shop", 9, nil)}, want: result(report.OutcomePass, "all expressions are met")},
		"cache trouble":    {policy: withParams, binding: namedParam, paramsErr: errors.New("no rights"), want: result(report.OutcomeError, "binding everywhere: parameters of kind ReplicaLimit: no rights")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := &parameters{list: test.params, err: test.paramsErr}
			compiler := admissionpolicy.NewCompiler(admissionpolicy.Config{Entries: entries})
			compiled := compiler.Compile(object(t, test.policy), []*unstructured.Unstructured{object(t, test.binding)})
			testkit.NoError(t, compiled.Problem())
			if test.subject == "" {
				test.subject = fiveReplicas
			}
			subject := policy.Subject{Object: object(t, test.subject), NamespaceLabels: map[string]string{"env": "prod"}}
			got := testkit.Must(compiled.Evaluate(t.Context(), subject))(t)
			testkit.NoDiff(t, cmp.Diff(test.want, got), "results (-want +got)")
		})
	}
}

func TestNamespaceAsSubject(t *testing.T) {
	t.Parallel()
	namespaces := strings.Replace(strings.Replace(limited, "apps", "''", 1), "deployments", "namespaces", 1)
	namespaces = strings.Replace(namespaces, "object.spec.replicas <= 3", "has(object.metadata.labels.owner)", 1)
	binding := object(t, bound("\n  matchResources: {namespaceSelector: {matchLabels: {env: prod}}}"))
	compiled := admissionpolicy.NewCompiler(admissionpolicy.Config{}).Compile(object(t, namespaces), []*unstructured.Unstructured{binding})
	for text, want := range map[string]int{
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {env: prod}}}": 1,
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {env: test}}}": 0,
	} {
		subject := object(t, text)
		got, err := compiled.Evaluate(t.Context(), policy.Subject{Object: subject, NamespaceLabels: subject.GetLabels()})
		if err != nil || len(got) != want {
			t.Errorf("%s: got %v, %v; want %d results", text, got, err, want)
		}
	}
}

// TestProblems has policies that the API server of this version refuses. They give an error for what they match.
func TestProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		spec("\n  validations: [{expression: 'object.'}]"):                           "Syntax error",
		spec("\n  variables: [{name: a, expression: '1 +'}]\n  validations: []"):     "spec.variables[0].expression",
		strings.Replace(limited, deployments, "", 1):                                 "spec.matchConstraints is missing",
		spec("\n  validations: [{expression: 'true', messageExpression: '1 + '}]"):   "Syntax error",
		strings.Replace(limited, "validations: [{", "validations: [3, {", 1):         "read ValidatingAdmissionPolicy limit: json: cannot unmarshal number into Go struct field ValidatingAdmissionPolicySpec.spec.validations",
		spec("\n  matchConditions: [{name: a, expression: '3'}]\n  validations: []"): "must evaluate to bool",
		spec("\n  validations: [{expression: 'params.max > 3'}]"):                    "undeclared reference to 'params'",
	} {
		compiled := admissionpolicy.NewCompiler(admissionpolicy.Config{}).Compile(object(t, text), []*unstructured.Unstructured{object(t, everywhere)})
		if err := compiled.Problem(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nproblem %v, want %q", text, err, want)
			continue
		}
		got, err := compiled.Evaluate(t.Context(), policy.Subject{Object: object(t, fiveReplicas)})
		if matches := strings.Contains(text, deployments); err != nil || matches && (len(got) != 1 || got[0].Outcome != report.OutcomeError) || !matches && len(got) > 0 {
			t.Errorf("%s\nresults %v, %v; want one error if it matches", text, got, err)
		}
		if got, err := compiled.Evaluate(t.Context(), policy.Subject{Object: object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}}")}); err != nil || len(got) > 0 {
			t.Errorf("%s\nresults %v, %v for what it does not match", text, got, err)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Replace(limited, "CREATE, UPDATE", "UPDATE, DELETE", 1):                                                       "spec.matchConstraints: no rule is about CREATE",
		spec("\n  validations: [{expression: \"request['userInfo'].username == 'x'\"}]"):                                      "spec.validations[0].expression: request.userInfo",
		spec("\n  matchConditions: [{name: a, expression: authorizer.path('/x').check('get').allowed()}]\n  validations: []"): "spec.matchConditions[0].expression: authorizer",
		spec("\n  validations: [{expression: \"object.metadata.annotations['authorizer'] == 'x'\"}]"):                         "",
	} {
		compiled := admissionpolicy.NewCompiler(admissionpolicy.Config{}).Compile(object(t, text), []*unstructured.Unstructured{object(t, everywhere)})
		if got := strings.Join(compiled.LeftOut(), "\n"); (got == "") != (want == "") || !strings.HasPrefix(got, want) || compiled.Background() != (want == "") {
			t.Errorf("%s\nleft out: %q, background %t; want %q", text, got, compiled.Background(), want)
		}
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	compiler := admissionpolicy.NewCompiler(admissionpolicy.Config{})
	described := object(t, limited)
	described.SetAnnotations(map[string]string{"policies.kyverno.io/severity": "High", "policies.kyverno.io/category": "Sizes"})
	binding := []*unstructured.Unstructured{object(t, everywhere)}
	compiled := compiler.Compile(described, binding)
	want := policy.Presentation{Source: "ValidatingAdmissionPolicy", Category: "Sizes", Severity: report.SeverityHigh, Scored: true, Process: "background scan"}
	if diff := cmp.Diff(want, compiled.Presentation()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]policy.Target{{Group: "apps", Version: "v1", Resource: "deployments"}}, compiled.Targets()); diff != "" {
		t.Error(diff)
	}
	plain, selective := compiler.Compile(object(t, limited), binding), compiler.Compile(object(t, limited), []*unstructured.Unstructured{object(t, bound("\n  matchResources: {objectSelector: {matchLabels: {a: b}}}"))})
	if compiled.Fingerprint() != plain.Fingerprint() || plain.Fingerprint() == selective.Fingerprint() {
		t.Error("the fingerprint must depend on bindings, and not on annotations")
	}
	for _, label := range []string{policy.DisabledLabel, "app.kubernetes.io/managed-by"} {
		labelled := object(t, limited)
		labelled.SetLabels(map[string]string{label: "kyverno"})
		if compiler.Compile(labelled, binding).Reported() || !plain.Reported() {
			t.Errorf("reported with the label %s", label)
		}
	}
	for text, want := range map[string]bool{
		limited: false,
		spec("\n  validations: [{expression: 'has(namespaceObject.metadata.labels)'}]"):                      true,
		spec("\n  validations: [{expression: 'false', messageExpression: 'namespaceObject.metadata.name'}]"): true,
	} {
		if got := compiler.Compile(object(t, text), binding).ReadsNamespace(); got != want {
			t.Errorf("%s\nreads the namespace: %t, want %t", text, got, want)
		}
	}
	entries := compiler.Compile(object(t, withParams), []*unstructured.Unstructured{object(t, namedParam)}).Entries()
	if diff := cmp.Diff([]policy.Entry{{Resource: policy.EntryResource{Group: "rules.example.com", Version: "v1", Kind: "ReplicaLimit", Namespace: "rules"}}}, entries); diff != "" {
		t.Error(diff)
	}
}

// TestEndedContext: the error is the context's and no other.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	compiled := admissionpolicy.NewCompiler(admissionpolicy.Config{}).Compile(object(t, limited), []*unstructured.Unstructured{object(t, everywhere)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := compiled.Evaluate(ctx, policy.Subject{Object: object(t, fiveReplicas), Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", got, err)
	}
}
