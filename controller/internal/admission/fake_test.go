// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

// fakePolicy is a policy that does what a test says. By default it is about pods, denies
// nothing, and is not for background.
type fakePolicy struct {
	id         policy.Identity
	admission  policy.Admission
	background bool
	unreported bool
	targets    []policy.Target
	review     func(ctx context.Context, request *policy.Request) ([]policy.Verdict, error)

	reviewed atomic.Int64
}

func (p *fakePolicy) Identity() policy.Identity { return p.id }

func (p *fakePolicy) Presentation() policy.Presentation {
	return policy.Presentation{Source: "fake", Category: "tests", Scored: true}
}
func (p *fakePolicy) Fingerprint() string         { return "print-" + p.id.Name }
func (p *fakePolicy) Background() bool            { return p.background }
func (p *fakePolicy) Admission() policy.Admission { return p.admission }
func (p *fakePolicy) Entries() []policy.Entry     { return nil }
func (p *fakePolicy) Doubt() error                { return nil }
func (p *fakePolicy) LeftOut() []string           { return nil }
func (p *fakePolicy) Reported() bool              { return !p.unreported }
func (p *fakePolicy) ReadsNamespace() bool        { return true }
func (p *fakePolicy) ReadsStatus() bool           { return true }
func (p *fakePolicy) Targets() []policy.Target    { return p.targets }
func (p *fakePolicy) Problem() error              { return nil }

func (p *fakePolicy) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return nil, nil
}

func (p *fakePolicy) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	p.reviewed.Add(1)
	if p.review == nil {
		return []policy.Verdict{{Result: policy.Result{Rule: "r", Outcome: report.OutcomePass, Message: "fine"}}}, nil
	}
	return p.review(ctx, request)
}

// newPolicy returns an enabled policy about pods.
func newPolicy(name string, change ...func(*fakePolicy)) *fakePolicy {
	p := &fakePolicy{
		id:        policy.Identity{Kind: policy.ClusterPolicy, Name: name},
		admission: policy.Admission{Enabled: true, Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update}},
		targets:   []policy.Target{{Group: "*", Version: "*", Kind: "Pod"}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func closed(p *fakePolicy)     { p.admission.Enforces, p.admission.Closed = true, true }
func enforces(p *fakePolicy)   { p.admission.Enforces = true }
func background(p *fakePolicy) { p.background = true }

func says(verdicts ...policy.Verdict) func(*fakePolicy) {
	return func(p *fakePolicy) {
		p.review = func(context.Context, *policy.Request) ([]policy.Verdict, error) { return verdicts, nil }
	}
}

func denies(rule, message string) func(*fakePolicy) {
	return says(policy.Verdict{Deny: true, Result: policy.Result{Rule: rule, Outcome: report.OutcomeFail, Message: message}})
}

// catalogs knows the kinds of the tests.
type catalogs struct {
	current atomic.Pointer[served.Catalog]
}

func (c *catalogs) Current() *served.Catalog { return c.current.Load() }

// lister is a discovery client.
type lister struct{}

func (lister) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	verbs := metav1.Verbs{"list", "watch"}
	core := metav1.GroupVersionForDiscovery{GroupVersion: "v1", Version: "v1"}
	apps := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	return []*metav1.APIGroup{
			{Versions: []metav1.GroupVersionForDiscovery{core}, PreferredVersion: core},
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{apps}, PreferredVersion: apps},
		}, []*metav1.APIResourceList{
			{GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs}, {Name: "pods/exec", Kind: "PodExecOptions", Namespaced: true},
				{Name: "namespaces", Kind: "Namespace", Verbs: verbs},
			}},
			{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: verbs}}},
		}, nil
}

func newCatalogs(tb testing.TB) *catalogs {
	tb.Helper()
	catalog := testkit.Must(served.Discover(lister{}, nil))(tb)
	c := &catalogs{}
	c.current.Store(catalog)
	return c
}

// set is what a server is given as policies.
type set struct {
	mu       sync.Mutex
	policies []policy.Policy
}

func (s *set) get() []policy.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policies
}

func (s *set) put(policies ...policy.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies = append(make([]policy.Policy, 0, len(policies)), policies...)
}

// unit is a server whose API has one namespace, without a connection.
type unit struct {
	*Server
	policies *set
	client   *fake.FakeDynamicClient
	handler  http.Handler
}

func newUnit(tb testing.TB, change func(*Config), policies ...policy.Policy) *unit {
	tb.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "default", "labels": map[string]any{"team": "a"},
	}}}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), namespace)
	u := &unit{policies: &set{}, client: client}
	u.policies.put(policies...)
	u.Server = newServer(tb, client, u.policies, change)
	u.handler = u.Handler()
	return u
}

func newServer(tb testing.TB, client dynamic.Interface, policies *set, change func(*Config)) *Server {
	tb.Helper()
	config := Config{Client: client, Catalogs: newCatalogs(tb), Policies: policies.get}
	if change != nil {
		change(&config)
	}
	return NewServer(config)
}

// pod returns an object as an API server has it once it is admitted.
func namespaceNamed(name string, labels map[string]string) *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(name)
	namespace.SetLabels(labels)
	return namespace
}

func pod(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": "uid-of-" + name, "labels": map[string]any{"app": name}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.example/app:1"}}},
	}}
}

// request returns that for the creation of a pod, after a change.
func request(object *unstructured.Unstructured, change ...func(*admissionv1.AdmissionRequest)) *admissionv1.AdmissionRequest {
	r := &admissionv1.AdmissionRequest{
		UID: "request", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: "somebody"},
	}
	if object != nil {
		r.Name, r.Namespace, r.Object = object.GetName(), object.GetNamespace(), raw(object)
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func raw(object *unstructured.Unstructured) runtime.RawExtension {
	data, err := object.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: data}
}

func encodeReview(tb testing.TB, r *admissionv1.AdmissionRequest) []byte {
	tb.Helper()
	data := testkit.Must(json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: r,
	}))(tb)
	return data
}

// post sends a body and returns the answer.
func (u *unit) post(tb testing.TB, path string, body []byte, change ...func(*http.Request)) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	answer := httptest.NewRecorder()
	u.handler.ServeHTTP(answer, r)
	return answer
}

// ask returns the answer to a request that gets one.
func (u *unit) ask(tb testing.TB, path string, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	tb.Helper()
	answer := u.post(tb, path, encodeReview(tb, r))
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || answer.Code != http.StatusOK || review.Response == nil {
		tb.Fatalf("%s: %d %s %v", path, answer.Code, answer.Body, err)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response.UID != r.UID {
		tb.Errorf("the answer is %s", answer.Body)
	}
	return review.Response
}

// fail has requests of the server's client fail.
func (u *unit) fail(verb, resource string, err error) {
	u.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}
