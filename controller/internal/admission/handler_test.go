// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// TestRequestsThatAreNone: each gets the cause, and none an answer that the API server could take for
// one.
func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	u := newUnit(t, nil, newPolicy("p"))
	good := string(encodeReview(t, request(pod("default", "a"))))
	for name, test := range map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		cause  string
	}{
		"method":       {good, func(r *http.Request) { r.Method = http.MethodGet }, 405, "POST"},
		"content type": {good, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "application/json"},
		"no type":      {good, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "application/json"},
		"timeout":      {good, func(r *http.Request) { r.URL.RawQuery = "timeout=soon" }, 400, "soon"},
		"no time":      {good, func(r *http.Request) { r.URL.RawQuery = "timeout=-1s" }, 400, "-1s"},
		"empty":        {"", nil, 400, "empty"},
		"no JSON":      {"<html>", nil, 400, "AdmissionReview"},
		"more":         {good + "{}", nil, 400, "AdmissionReview"},
		"old version":  {strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), nil, 400, "v1beta1"},
		"other kind":   {strings.Replace(good, "AdmissionReview", "Pod", 1), nil, 400, "Pod"},
		"no request":   {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, nil, 400, "request"},
		"no uid":       {strings.Replace(good, `"uid":"request"`, `"uid":""`, 1), nil, 400, "uid"},
		"no kind":      {strings.Replace(good, `"kind":"Pod"},"resource"`, `"kind":""},"resource"`, 1), nil, 400, "request.kind"},
		"no resource":  {strings.Replace(good, `"resource":"pods"`, `"resource":""`, 1), nil, 400, "request.resource"},
		"operation":    {strings.Replace(good, `"CREATE"`, `"EAT"`, 1), nil, 400, "EAT"},
		"object":       {strings.Replace(good, `"apiVersion":"v1","kind":"Pod"`, `"kind":"Pod"`, 1), nil, 400, "request.object"},
		"too large":    {good + strings.Repeat(" ", maxBody), nil, 413, "bytes"},
		"too large, of no length": {good + strings.Repeat(" ", maxBody), func(r *http.Request) {
			r.ContentLength = -1
		}, 413, "bytes"},
	} {
		var changes []func(*http.Request)
		if test.change != nil {
			changes = append(changes, test.change)
		}
		answer := u.post(t, PathIgnore, []byte(test.body), changes...)
		if answer.Code != test.code || !strings.Contains(answer.Body.String(), test.cause) || strings.Contains(answer.Body.String(), "allowed") {
			t.Errorf("%s: %d %.300s", name, answer.Code, answer.Body)
		}
	}
	if answer := u.post(t, PathIgnore, []byte(good), func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }); answer.Code != http.StatusOK {
		t.Errorf("with a charset: %d %s", answer.Code, answer.Body)
	}
	u.policies.mu.Lock()
	u.policies.policies = nil
	u.policies.mu.Unlock()
	if answer := u.post(t, PathFail, []byte(good)); answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "not known") {
		t.Errorf("without policies: %d %s", answer.Code, answer.Body)
	}
	if u.Ready() == nil {
		t.Error("ready without policies")
	}
}

// TestDenial: the message names the object, the policies and their rules; nothing that doesn't deny
// is in it.
func TestDenial(t *testing.T) {
	t.Parallel()
	u := newUnit(t, nil,
		newPolicy("one", closed, says(
			policy.Verdict{Deny: true, Result: policy.Result{Rule: "has-label", Outcome: report.OutcomeFail, Message: "label 'app' is\nmissing"}},
			policy.Verdict{Result: policy.Result{Rule: "audited", Outcome: report.OutcomeFail, Message: "not shown"}},
		)),
		newPolicy("two", closed, denies("", "no rule")),
		newPolicy("fine", closed),
		newPolicy("open", enforces, denies("r", "from the other webhook")),
	)
	got := u.ask(t, PathFail, request(pod("default", "x")))
	want := "resource Pod/default/x was blocked due to the following policies\n\none:\n  has-label: label 'app' is missing\ntwo: no rule\n"
	if got.Allowed || got.Result == nil || got.Result.Message != want {
		t.Errorf("the answer is %+v", got)
	}
	if got.Result.Code != http.StatusForbidden || got.Result.Reason != metav1.StatusReasonForbidden || got.Result.Status != metav1.StatusFailure {
		t.Errorf("the status is %+v", got.Result)
	}
	if got := u.ask(t, PathIgnore, request(pod("default", "x"))); got.Allowed || !strings.Contains(got.Result.Message, "from the other webhook") {
		t.Errorf("the answer of the other webhook is %+v", got)
	}
}

// TestDenialIsBounded also with messages that policies make of what users write.
func TestDenialIsBounded(t *testing.T) {
	t.Parallel()
	var policies []policy.Policy
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		policies = append(policies, newPolicy(name, closed, denies("r", strings.Repeat("ä", maxMessage))))
	}
	u := newUnit(t, nil, policies...)
	got := u.ask(t, PathFail, request(pod("default", "x")))
	if got.Allowed || len(got.Result.Message) > maxDenial {
		t.Errorf("the message has %d bytes", len(got.Result.Message))
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	warn := policy.Verdict{Warn: true, Result: policy.Result{Rule: "r", Outcome: report.OutcomeFail, Message: "careful,\nplease"}}
	fails := func(p *fakePolicy) {
		p.review = func(context.Context, *policy.Request) ([]policy.Verdict, error) { return nil, errors.New("is broken") }
	}
	panics := func(p *fakePolicy) {
		p.review = func(context.Context, *policy.Request) ([]policy.Verdict, error) { panic("is wild") }
	}
	u := newUnit(t, nil, newPolicy("warns", says(warn)), newPolicy("fails", fails), newPolicy("panics", panics), newPolicy("quiet", background))
	got := u.ask(t, PathIgnore, request(pod("default", "x")))
	if !got.Allowed || len(got.Warnings) != 3 || got.Warnings[0] != "policy warns.r: careful, please" ||
		!strings.Contains(got.Warnings[1], "policy fails: ") || !strings.Contains(got.Warnings[1], "is broken") || !strings.Contains(got.Warnings[2], "is wild") {
		t.Errorf("the answer is %+v", got)
	}

	u = newUnit(t, nil, newPolicy("fails", closed, fails), newPolicy("panics", closed, panics))
	got = u.ask(t, PathFail, request(pod("default", "x")))
	if got.Allowed || !strings.Contains(got.Result.Message, "is broken") || !strings.Contains(got.Result.Message, "is wild") || len(got.Warnings) > 0 {
		t.Errorf("policies that are closed and fail: %+v", got)
	}

	long := policy.Verdict{Warn: true, Result: policy.Result{Rule: "r", Outcome: report.OutcomeFail, Message: strings.Repeat("x", 1000)}}
	many := make([]policy.Verdict, 100)
	for i := range many {
		many[i] = long
	}
	u = newUnit(t, nil, newPolicy("p", says(many...)))
	size := 0
	got = u.ask(t, PathIgnore, request(pod("default", "x")))
	for _, warning := range got.Warnings {
		if size += len(warning); len(warning) > 256 {
			t.Errorf("a warning has %d bytes", len(warning))
		}
	}
	if size > 4096 || len(got.Warnings) < 10 {
		t.Errorf("%d warnings of %d bytes", len(got.Warnings), size)
	}
}

// TestWhichPoliciesAreAsked for a request.
func TestWhichPoliciesAreAsked(t *testing.T) {
	t.Parallel()
	in := func(namespace string) func(*fakePolicy) {
		return func(p *fakePolicy) { p.id.Kind, p.id.Namespace = policy.NamespacedPolicy, namespace }
	}
	about := func(targets ...policy.Target) func(*fakePolicy) { return func(p *fakePolicy) { p.targets = targets } }
	on := func(operations ...admissionv1.Operation) func(*fakePolicy) {
		return func(p *fakePolicy) { p.admission.Operations = operations }
	}
	all := []*fakePolicy{
		newPolicy("pods"),
		newPolicy("disabled", func(p *fakePolicy) { p.admission.Enabled = false }),
		newPolicy("scanned", background),
		newPolicy("scanned-warns", background, func(p *fakePolicy) { p.admission.Warns = true }),
		newPolicy("scanned-enforces", background, enforces),
		newPolicy("closed", closed),
		newPolicy("here", in("default")),
		newPolicy("elsewhere", in("other")),
		newPolicy("namespaces", about(policy.Target{Version: "v1", Kind: "Namespace"})),
		newPolicy("exec", about(), on(admissionv1.Connect), func(p *fakePolicy) {
			p.admission.Targets = []policy.Target{{Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"}}
		}),
		newPolicy("exec-kind", about(policy.Target{Group: "*", Version: "*", Kind: "PodExecOptions"}), on(admissionv1.Connect)),
		newPolicy("exec-resource", about(policy.Target{Version: "v1", Resource: "pods", Subresource: "exec"}), on(admissionv1.Connect)),
		newPolicy("deletion", on(admissionv1.Delete)),
		newPolicy("scale", about(policy.Target{Group: "*", Version: "*", Kind: "Deployment", Subresource: "scale"})),
		newPolicy("resize", about(policy.Target{Version: "v1", Kind: "Pod", Subresource: "resize"})),
		newPolicy("everything", about(policy.Target{Group: "*", Version: "*", Kind: "*"})),
		newPolicy("every-subresource", about(policy.Target{Group: "*", Version: "*", Kind: "*", Subresource: "*"})),
	}
	policies := make([]policy.Policy, 0, len(all))
	for _, p := range all {
		policies = append(policies, p)
	}
	asked := func(config func(*Config), path string, r *admissionv1.AdmissionRequest) string {
		u := newUnit(t, config, policies...)
		before := map[*fakePolicy]int64{}
		for _, p := range all {
			before[p] = p.reviewed.Load()
		}
		u.ask(t, path, r)
		var names []string
		for _, p := range all {
			if p.reviewed.Load() > before[p] {
				names = append(names, p.id.Name)
			}
		}
		return strings.Join(names, " ")
	}
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "default", "uid": "u"}}}
	every := func(c *Config) { c.All = true }
	exec := request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) {
		r.Kind.Kind, r.SubResource, r.Operation = "PodExecOptions", "exec", admissionv1.Connect
		r.Object = raw(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PodExecOptions"}})
	})
	scale := request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) {
		r.Kind = metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
		r.Resource = metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		r.SubResource, r.Operation = "scale", admissionv1.Update
	})
	resize := request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) { r.SubResource, r.Operation = "resize", admissionv1.Update })
	other := request(pod("default", "a"), func(r *admissionv1.AdmissionRequest) {
		r.Resource = metav1.GroupVersionResource{Group: "reports.kyverno.io", Version: "v1", Resource: "ephemeralreports"}
	})
	deletion := request(nil, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.Name, r.Namespace, r.OldObject = admissionv1.Delete, "a", "default", raw(pod("default", "a"))
	})
	for name, test := range map[string]struct {
		config func(*Config)
		path   string
		r      *admissionv1.AdmissionRequest
		want   string
	}{
		"pod":             {nil, PathIgnore, request(pod("default", "a")), "pods scanned-warns scanned-enforces here everything every-subresource"},
		"pod, all":        {every, PathIgnore, request(pod("default", "a")), "pods scanned scanned-warns scanned-enforces here everything every-subresource"},
		"pod, closed":     {nil, PathFail, request(pod("default", "a")), "closed"},
		"pod elsewhere":   {nil, PathIgnore, request(pod("other", "a")), "pods scanned-warns scanned-enforces elsewhere everything every-subresource"},
		"exec":            {nil, PathIgnore, exec, "exec exec-kind exec-resource"},
		"resize":          {nil, PathIgnore, resize, "resize every-subresource"},
		"scale":           {nil, PathIgnore, scale, "scale every-subresource"},
		"deletion":        {nil, PathIgnore, deletion, "deletion"},
		"our own reports": {every, PathIgnore, other, ""},
		"namespace": {nil, PathIgnore, request(space, func(r *admissionv1.AdmissionRequest) {
			r.Kind.Kind, r.Resource.Resource, r.Namespace = "Namespace", "namespaces", "default"
		}), "namespaces everything every-subresource"},
	} {
		if got := asked(test.config, test.path, test.r); got != test.want {
			t.Errorf("%s: asked are %q, want %q", name, got, test.want)
		}
	}
}

// TestPoliciesMayChange from one request to the next.
func TestPoliciesMayChange(t *testing.T) {
	t.Parallel()
	u := newUnit(t, nil, newPolicy("a", enforces, denies("r", "no")))
	if u.ask(t, PathIgnore, request(pod("default", "x"))).Allowed {
		t.Error("allowed")
	}
	u.policies.put(newPolicy("a", enforces))
	if !u.ask(t, PathIgnore, request(pod("default", "x"))).Allowed {
		t.Error("denied by a policy that is no more")
	}
	u.policies.put()
	if !u.ask(t, PathIgnore, request(pod("default", "x"))).Allowed {
		t.Error("denied without policies")
	}
}

// TestWhatPoliciesSee of a request.
func TestWhatPoliciesSee(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen *policy.Request
	p := newPolicy("p", func(p *fakePolicy) {
		p.targets = []policy.Target{{Group: "*", Version: "*", Kind: "*"}}
		p.admission.Operations = operations
		p.review = func(_ context.Context, r *policy.Request) ([]policy.Verdict, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = r
			return nil, nil
		}
	})
	u := newUnit(t, nil, p)
	before, after := pod("default", "a"), pod("default", "a")
	after.SetLabels(map[string]string{"app": "b"})
	u.ask(t, PathIgnore, request(after, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.OldObject, r.DryRun = admissionv1.Update, raw(before), new(true)
	}))
	if seen.New.GetLabels()["app"] != "b" || seen.Old.GetLabels()["app"] != "a" || seen.NamespaceLabels["team"] != "a" ||
		seen.UserInfo.Username != "somebody" || !*seen.DryRun {
		t.Errorf("an update is seen as %+v", seen)
	}
	if _, _, err := seen.Roles(); err == nil {
		t.Error("roles are known that nobody watches")
	}
	u.ask(t, PathIgnore, request(nil, func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.Name, r.Namespace, r.OldObject = admissionv1.Delete, "a", "default", raw(before)
	}))
	if seen.New != nil || seen.Subject().GetName() != "a" {
		t.Errorf("a deletion is seen as %+v", seen)
	}
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "new", "labels": map[string]any{"team": "b"},
	}}}
	u.ask(t, PathIgnore, request(space, func(r *admissionv1.AdmissionRequest) {
		r.Kind.Kind, r.Resource.Resource, r.Namespace = "Namespace", "namespaces", "new"
	}))
	if seen.NamespaceLabels["team"] != "b" || seen.NamespaceObject.GetName() != "new" {
		t.Errorf("the labels of a namespace that is being created are %v", seen.NamespaceLabels)
	}
}

// TestNamespaceThatCanNotBeRead: nobody can say which policies select it.
func TestNamespaceThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	p := newPolicy("p", closed)
	u := newUnit(t, nil, p)
	if got := u.ask(t, PathFail, request(pod("unknown", "a"))); !got.Allowed || p.reviewed.Load() != 1 {
		t.Errorf("a namespace that does not exist: %+v", got)
	}
	u.fail("get", "namespaces", errors.New("the API is away"))
	got := u.ask(t, PathFail, request(pod("unknown", "a")))
	if got.Allowed || !strings.Contains(got.Result.Message, "the API is away") || p.reviewed.Load() != 1 {
		t.Errorf("the answer is %+v", got)
	}
}
