// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"slices"
	"strings"
	"testing"

	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/clients/dclient"
	"github.com/kyverno/kyverno/pkg/engine"
	"github.com/kyverno/kyverno/pkg/engine/factories"
	"github.com/kyverno/kyverno/pkg/engine/policycontext"
	"github.com/kyverno/kyverno/pkg/policycache"
	engineutils "github.com/kyverno/kyverno/pkg/utils/engine"
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

// reviewCase is a policy, a request, and what is to come of them.
type reviewCase struct {
	policy     string
	exceptions []string
	request    *policy.Request
	verdicts   []string
}

// check wants the verdicts, nothing in the request to change, and the decision and the outcomes of
// Kyverno.
func (c *reviewCase) check(t *testing.T) []policy.Verdict {
	t.Helper()
	newBefore, oldBefore := c.request.New.DeepCopy(), c.request.Old.DeepCopy()
	p := compile(t, c.policy, c.exceptions...)
	verdicts := wantVerdicts(t, p, c.request, c.verdicts...)
	wantEqual(t, "new object", newBefore, c.request.New)
	wantEqual(t, "old object", oldBefore, c.request.Old)
	denied := slices.ContainsFunc(verdicts, func(v policy.Verdict) bool { return v.Deny })
	var outcomes []string
	for _, verdict := range verdicts {
		outcomes = append(outcomes, verdict.Rule+":"+string(verdict.Outcome)+": "+verdict.Message)
	}
	kyvernoDenies, kyvernoOutcomes := c.kyverno(t, p.(*classicPolicy))
	slices.Sort(outcomes)
	slices.Sort(kyvernoOutcomes)
	wantEqual(t, "denial of Kyverno", kyvernoDenies, denied)
	wantEqual(t, "outcomes of Kyverno", kyvernoOutcomes, outcomes)
	return verdicts
}

// kyverno does what Kyverno's webhook does: it chooses the rules to enforce and those to audit by
// its policy cache, and asks the engine.
func (c *reviewCase) kyverno(t *testing.T, p *classicPolicy) (denied bool, outcomes []string) {
	t.Helper()
	r := c.request
	cache := policycache.NewCache()
	if err := cache.Set(p.identity.ResultName(), p.decoded, finder{}); err != nil {
		t.Fatal(err)
	}
	namespace := requestNamespace(r)
	info := kyvernov2.RequestInfo{AdmissionUserInfo: r.UserInfo, DryRun: *r.DryRun}
	if r.Roles != nil {
		var err error
		if info.Roles, info.ClusterRoles, err = r.Roles(); err != nil {
			t.Fatal(err)
		}
	}
	jmespath, settings := p.compiler.jmespath, p.compiler.settings
	about, err := policycontext.NewPolicyContextFromAdmissionRequest(jmespath, *r.AdmissionRequest, info, kinds[r.Resource.Resource], settings)
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind.Kind != namespaceKind {
		about = about.WithNamespaceLabels(r.NamespaceLabels)
	}
	cluster := true
	asked := engine.NewEngine(settings, jmespath, &subjectClient{absentClient{}, namespace}, nil, nil,
		factories.DefaultContextLoaderFactory(nil), p.exceptions, &cluster)
	resource := schema.GroupVersionResource(r.Resource)
	for _, one := range cache.GetPolicies(policycache.ValidateEnforce, resource, r.SubResource, namespace) {
		response := asked.Validate(t.Context(), about.WithPolicy(one))
		denied = denied || engineutils.BlockRequest(response, one.GetSpec().GetFailurePolicy(t.Context()))
		for _, rule := range response.PolicyResponse.Rules {
			outcomes = append(outcomes, rule.Name()+":"+string(rule.Status())+": "+rule.Message())
		}
	}
	for _, one := range cache.GetPolicies(policycache.ValidateAudit, resource, r.SubResource, namespace) {
		for _, rule := range asked.Validate(t.Context(), about.WithPolicy(one)).PolicyResponse.Rules {
			outcomes = append(outcomes, rule.Name()+":"+string(rule.Status())+": "+rule.Message())
		}
	}
	return denied, outcomes
}

// kinds are those that the tests use, by resource.
var kinds = map[string]schema.GroupVersionKind{
	"pods":        {Version: "v1", Kind: "Pod"},
	"configmaps":  {Version: "v1", Kind: "ConfigMap"},
	"namespaces":  {Version: "v1", Kind: "Namespace"},
	"deployments": {Group: "apps", Version: "v1", Kind: "Deployment"},
}

// finder finds their resources for Kyverno's policy cache.
type finder struct{}

// FindResources is that of Kyverno's discovery.
func (finder) FindResources(_, _, kind, subresource string) (map[dclient.TopLevelApiDescription]metav1.APIResource, error) {
	out := map[dclient.TopLevelApiDescription]metav1.APIResource{}
	for resource, known := range kinds {
		if kind == "*" || known.Kind == kind {
			out[dclient.TopLevelApiDescription{
				GroupVersion: known.GroupVersion(), Kind: known.Kind, Resource: resource, SubResource: subresource,
			}] = metav1.APIResource{}
		}
	}
	return out, nil
}

// enforcing makes a policy enforce what it says.
func enforcing(text string) string {
	return strings.Replace(text, "spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1)
}

func withSpec(text, fields string) string {
	return strings.Replace(text, "spec:\n", "spec:\n"+indent(fields), 1)
}
