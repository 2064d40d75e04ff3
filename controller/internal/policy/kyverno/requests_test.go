// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// request is what the API server asks when jane changes the old object to the new one; either may
// be empty. Changes come last.
func request(tb testing.TB, operation admissionv1.Operation, newText, oldText string, changes ...func(*policy.Request)) *policy.Request {
	tb.Helper()
	no := false
	out := &policy.Request{AdmissionRequest: &admissionv1.AdmissionRequest{
		UID: "5c1e0a0e-0000-4000-8000-000000000001", Operation: operation, DryRun: &no,
		UserInfo: authenticationv1.UserInfo{Username: "jane", Groups: []string{"dev"}},
	}}
	if newText != "" {
		out.New = object(tb, newText)
		out.Object.Raw = raw(tb, out.New)
	}
	if oldText != "" {
		out.Old = object(tb, oldText)
		out.OldObject.Raw = raw(tb, out.Old)
	}
	subject := out.Subject()
	kind := subject.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	out.Kind, out.Resource = metav1.GroupVersionKind(kind), metav1.GroupVersionResource(resource)
	out.Name, out.Namespace = subject.GetName(), subject.GetNamespace()
	for _, change := range changes {
		change(out)
	}
	return out
}

func raw(tb testing.TB, object *unstructured.Unstructured) []byte {
	tb.Helper()
	data, err := object.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func create(tb testing.TB, text string, changes ...func(*policy.Request)) *policy.Request {
	tb.Helper()
	return request(tb, admissionv1.Create, text, "", changes...)
}

// of makes a request one about a subresource.
func of(resource schema.GroupVersionResource, subresource string) func(*policy.Request) {
	return func(r *policy.Request) {
		r.Resource, r.SubResource = metav1.GroupVersionResource(resource), subresource
	}
}

// teamWith gives a request the namespace team with labels.
func teamWith(labels map[string]string) func(*policy.Request) {
	return func(r *policy.Request) { r.Namespace, r.NamespaceLabels = "team", labels }
}

func withRoles(roles, clusterRoles []string) func(*policy.Request) {
	return func(r *policy.Request) {
		r.Roles = func() ([]string, []string, error) { return roles, clusterRoles, nil }
	}
}

// review returns the verdicts, without messages as "rule:outcome", with "!" if they deny and with
// "~" if they warn.
func review(tb testing.TB, p policy.Policy, r *policy.Request) ([]policy.Verdict, []string) {
	tb.Helper()
	verdicts, err := p.Review(tb.Context(), r)
	if err != nil {
		tb.Fatalf("%s: %v", p.Identity(), err)
	}
	out := make([]string, 0, len(verdicts))
	for _, verdict := range verdicts {
		text := verdict.Rule + ":" + string(verdict.Outcome)
		if verdict.Deny {
			text += "!"
		}
		if verdict.Warn {
			text += "~"
		}
		out = append(out, text)
	}
	return verdicts, out
}

func wantVerdicts(tb testing.TB, p policy.Policy, r *policy.Request, expected ...string) []policy.Verdict {
	tb.Helper()
	verdicts, got := review(tb, p, r)
	if !slices.Equal(got, expected) {
		tb.Errorf("%s on %s %s/%s: %v, want %v\n%+v", p.Identity(), r.Operation, r.Kind.Kind, r.Name, got, expected, verdicts)
	}
	return verdicts
}

// kinds are those that the tests use, by resource.
var kinds = map[string]schema.GroupVersionKind{
	"pods":        {Version: "v1", Kind: "Pod"},
	"configmaps":  {Version: "v1", Kind: "ConfigMap"},
	"namespaces":  {Version: "v1", Kind: "Namespace"},
	"deployments": {Group: "apps", Version: "v1", Kind: "Deployment"},
}

// enforcing makes a policy enforce what it says.
func enforcing(text string) string {
	return strings.Replace(text, "spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1)
}

func withSpec(text, fields string) string {
	return strings.Replace(text, "spec:\n", "spec:\n"+indent(fields), 1)
}

var (
	plain    = clusterPolicy(podRule(unprivileged))
	enforced = enforcing(plain)
	pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

const (
	execOptions = "apiVersion: v1\nkind: PodExecOptions\ncommand: [sh]\ncontainer: main\nstdin: true\n"
	scale       = `
apiVersion: autoscaling/v1
kind: Scale
metadata: {name: bad, namespace: team}
spec: {replicas: 9}
`
	namespaceObject = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {env: prod}}\n"
	// unresolved fails to be evaluated.
	unresolved = `
validate: {message: m, deny: {conditions: {any: [{key: "{{ request.object.spec.none }}", operator: Equals, value: 1}]}}}
`
)
