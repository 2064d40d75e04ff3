// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

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

// Request is what the API server asks when jane changes the old object to the new one; either may
// be empty. Changes come last.
func Request(tb testing.TB, operation admissionv1.Operation, newText, oldText string, changes ...func(*policy.Request)) *policy.Request {
	tb.Helper()
	no := false
	out := &policy.Request{AdmissionRequest: &admissionv1.AdmissionRequest{
		UID: "5c1e0a0e-0000-4000-8000-000000000001", Operation: operation, DryRun: &no,
		UserInfo: authenticationv1.UserInfo{Username: "jane", Groups: []string{"dev"}},
	}}
	if newText != "" {
		out.New = Object(tb, newText)
		out.Object.Raw = raw(tb, out.New)
	}
	if oldText != "" {
		out.Old = Object(tb, oldText)
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

// Create is a request that creates an object.
func Create(tb testing.TB, text string, changes ...func(*policy.Request)) *policy.Request {
	tb.Helper()
	return Request(tb, admissionv1.Create, text, "", changes...)
}

// Of makes a request one about a subresource.
func Of(resource schema.GroupVersionResource, subresource string) func(*policy.Request) {
	return func(r *policy.Request) {
		r.Resource, r.SubResource = metav1.GroupVersionResource(resource), subresource
	}
}

// TeamWith gives a request the namespace team with labels.
func TeamWith(labels map[string]string) func(*policy.Request) {
	return func(r *policy.Request) { r.Namespace, r.NamespaceLabels = "team", labels }
}

// WithRoles gives the user of a request roles.
func WithRoles(roles, clusterRoles []string) func(*policy.Request) {
	return func(r *policy.Request) {
		r.Roles = func() ([]string, []string, error) { return roles, clusterRoles, nil }
	}
}

// Review returns the verdicts, without messages as "rule:outcome", with "!" if they deny and with "~" if they warn.
func Review(tb testing.TB, p policy.Policy, r *policy.Request) ([]policy.Verdict, []string) {
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

// WantVerdicts wants verdicts as [Review] words them.
func WantVerdicts(tb testing.TB, p policy.Policy, r *policy.Request, expected ...string) []policy.Verdict {
	tb.Helper()
	verdicts, got := Review(tb, p, r)
	if !slices.Equal(got, expected) {
		tb.Errorf("%s on %s %s/%s: %v, want %v\n%+v", p.Identity(), r.Operation, r.Kind.Kind, r.Name, got, expected, verdicts)
	}
	return verdicts
}

// Kinds are those that the tests use, by resource.
var Kinds = map[string]schema.GroupVersionKind{
	"pods":        {Version: "v1", Kind: "Pod"},
	"configmaps":  {Version: "v1", Kind: "ConfigMap"},
	"namespaces":  {Version: "v1", Kind: "Namespace"},
	"deployments": {Group: "apps", Version: "v1", Kind: "Deployment"},
}

// Enforcing makes a policy enforce what it says.
func Enforcing(text string) string {
	return strings.Replace(text, "spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1)
}

// WithSpec adds fields to the spec of a policy.
func WithSpec(text, fields string) string {
	return strings.Replace(text, "spec:\n", "spec:\n"+Indent(fields), 1)
}

// Policies that forbid privileged containers, and the resource that they are about.
var (
	Plain    = ClusterPolicy(PodRule(Unprivileged))
	Enforced = Enforcing(Plain)
	Pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// Objects of requests, and a rule that can't be evaluated.
const (
	ExecOptions = "apiVersion: v1\nkind: PodExecOptions\ncommand: [sh]\ncontainer: main\nstdin: true\n"
	Scale       = `
apiVersion: autoscaling/v1
kind: Scale
metadata: {name: bad, namespace: team}
spec: {replicas: 9}
`
	NamespaceObject = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {env: prod}}\n"
	// Unresolved fails to be evaluated.
	Unresolved = `
validate: {message: m, deny: {conditions: {any: [{key: "{{ request.object.spec.none }}", operator: Equals, value: 1}]}}}
`
)
