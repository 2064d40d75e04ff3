// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestKindAppearsAndVanishes: resources of a new kind are evaluated, and their results go with
// the kind.
func TestKindAppearsAndVanishes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "widgets")
	w.configMap(t, "widgets", "a")
	w.policy(t, "widgets", spec{Targets: targets("Widget", "ConfigMap"), Rules: asking("team")})
	r := w.scan(t)
	r.rest(t)
	const configMap = "ClusterPolicy/widgets ConfigMap/widgets/a has-team=fail"
	r.want(t, "ClusterPolicy/widgets ConfigMap/widgets/", configMap)
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	for range 2 {
		testkit.NoError(t, w.define(t.Context(), widgets))
		testkit.NoError(t, w.awaitKind(t.Context(), widgets))
		// A kind that has just come back may be missing once more.
		testkit.Settles(t, func() string {
			_, err := w.at(widgets, "widgets").Create(t.Context(), object("example.com/v1", "Widget", "widgets", "a"), metav1.CreateOptions{})
			if err != nil {
				return err.Error()
			}
			return ""
		})
		r.want(t, "ClusterPolicy/widgets Widget", "ClusterPolicy/widgets Widget/widgets/a has-team=fail")
		w.remove(t, crds, "", "widgets.example.com")
		r.want(t, "ClusterPolicy/widgets Widget")
	}
	r.want(t, "ClusterPolicy/widgets ConfigMap/widgets/", configMap)
}

// TestPolicyKindAppearsAndVanishes: so do policies.
func TestPolicyKindAppearsAndVanishes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "engines")
	w.configMap(t, "engines", "a")
	r := w.scan(t)
	r.rest(t)
	validating := schema.GroupVersionResource{Group: "policies.kyverno.io", Version: "v1", Resource: "validatingpolicies"}
	testkit.NoError(t, w.define(t.Context(), validating))
	testkit.NoError(t, w.awaitKind(t.Context(), validating))
	p := policyObject(t, "engines", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	p.SetAPIVersion("policies.kyverno.io/v1")
	p.SetKind("ValidatingPolicy")
	w.create(t, validating, p)
	r.want(t, "ValidatingPolicy/engines ConfigMap/engines/", "ValidatingPolicy/engines ConfigMap/engines/a has-team=fail")
	w.remove(t, crds, "", "validatingpolicies.policies.kyverno.io")
	r.want(t, "ValidatingPolicy/engines")
}

// TestKindNoLongerMatched: its results go, those of other kinds stay, and a kind that no policy
// matches is not watched.
func TestKindNoLongerMatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "matched")
	w.configMap(t, "matched", "a")
	w.create(t, quotas, object("v1", "ResourceQuota", "matched", "a"))
	w.policy(t, "matched", spec{Targets: targets("ConfigMap", "ResourceQuota"), Rules: asking("team")})
	r := newRunning()
	watched := &requests{}
	r.via = w.hooked(watched.see)
	w.start(t, r)
	r.rest(t)
	const configMap, quota = "ClusterPolicy/matched ConfigMap/matched/a has-team=fail", "ClusterPolicy/matched ResourceQuota/matched/a has-team=fail"
	r.want(t, "ClusterPolicy/matched ConfigMap/matched/", configMap)
	r.want(t, "ClusterPolicy/matched ResourceQuota/matched/", quota)
	w.change(t, "matched", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r.want(t, "ClusterPolicy/matched ResourceQuota")
	r.want(t, "ClusterPolicy/matched ConfigMap/matched/", configMap)
	testkit.Settles(t, func() string {
		if watched.open("/api/v1/resourcequotas") {
			return "the kind is still watched"
		}
		return ""
	})
	w.change(t, "matched", spec{Targets: targets("ConfigMap", "ResourceQuota"), Rules: asking("team")})
	r.want(t, "ClusterPolicy/matched ResourceQuota/matched/", quota)
}

var quotas = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}

// requests notes the requests of a scanner.
type requests struct {
	mu sync.Mutex
	// lists are the answers to those by path.
	lists map[string][]string
	// watches are those that have not ended.
	watches map[*http.Request]bool
}

func (r *requests) see(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	query := request.URL.Query()
	r.mu.Lock()
	if r.lists == nil {
		r.lists, r.watches = map[string][]string{}, map[*http.Request]bool{}
	}
	if query.Get("watch") != "" {
		r.watches[request] = true
	}
	r.mu.Unlock()
	response, err := next.RoundTrip(request)
	if query.Get("continue") != "" {
		return response, err // Another page of a list.
	}
	if query.Get("watch") == "" {
		answer := fmt.Sprint(err)
		if err == nil {
			answer = response.Status
		}
		r.mu.Lock()
		r.lists[request.URL.Path] = append(r.lists[request.URL.Path], answer)
		r.mu.Unlock()
	}
	return response, err
}

// open reports whether there is a watch.
func (r *requests) open(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for request := range r.watches {
		if request.URL.Path == path && request.Context().Err() == nil {
			return true
		}
	}
	return false
}

// TestOneListAKind: however many policies there are, each kind is asked for once, and objects
// never.
func TestOneListAKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "lists")
	w.configMap(t, "lists", "a")
	for _, name := range numbered("lists-", 5) {
		w.policy(t, name, spec{Targets: targets("ConfigMap", "Pod"), Rules: asking("team")})
	}
	r := newRunning()
	seen := &requests{}
	r.via = w.hooked(seen.see)
	r.discoveryInterval = time.Hour
	w.start(t, r)
	r.rest(t)
	if n := len(r.results.lines("ClusterPolicy/lists-")); n < 5 {
		t.Errorf("%d results", n)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	// Not policies: the wildcard of another test makes them resources, too.
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/pods", "/api/v1/namespaces"} {
		if len(seen.lists[path]) != 1 {
			t.Errorf("%s: lists with the answers %q", path, seen.lists[path])
		}
	}
	for path := range seen.lists {
		if strings.Contains(path, "/namespaces/") {
			t.Errorf("%s: a request for an object", path)
		}
	}
}

// TestWildcards: they mean all kinds but those that make no sense and those that are excluded.
func TestWildcards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "wild")
	w.configMap(t, "wild", "a")
	w.create(t, secrets, object("v1", "Secret", "wild", "a"))
	event := object("v1", "Event", "wild", "a")
	event.Object["involvedObject"] = map[string]any{"namespace": "wild", "name": "a", "kind": "ConfigMap"}
	w.create(t, schema.GroupVersionResource{Version: "v1", Resource: "events"}, event)
	lease := object("coordination.k8s.io/v1", "Lease", "wild", "a")
	w.create(t, schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, lease)
	report := object("wgpolicyk8s.io/v1alpha2", "PolicyReport", "wild", "a")
	w.create(t, schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}, report)
	deployment := object("apps/v1", "Deployment", "wild", "a")
	testkit.NoError(t, deployment.UnmarshalJSON([]byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "wild", "name": "a"}, "spec": {
		"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}}}}`)))
	w.create(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, deployment)
	w.policy(t, "wild", spec{Targets: []policy.Target{{Group: "*", Version: "*", Kind: "*"}}, Rules: asking("team")})
	w.policy(t, "wild-apps", spec{Targets: []policy.Target{{Group: "apps", Version: "*", Resource: "*"}}, Rules: asking("team")})
	r := w.scan(t, func(c *scan.Config) { c.Exclude = []schema.GroupResource{{Group: "*", Resource: "secrets"}} })
	r.rest(t)
	r.want(t, "ClusterPolicy/wild-apps Deployment/wild/", "ClusterPolicy/wild-apps Deployment/wild/a has-team=fail")
	r.want(t, "ClusterPolicy/wild-apps ConfigMap")
	r.want(t, "ClusterPolicy/wild ConfigMap/wild/", "ClusterPolicy/wild ConfigMap/wild/a has-team=fail")
	r.want(t, "ClusterPolicy/wild Deployment/wild/", "ClusterPolicy/wild Deployment/wild/a has-team=fail")
	r.want(t, "ClusterPolicy/wild Namespace//wild", "ClusterPolicy/wild Namespace//wild has-team=fail")
	for _, kind := range []string{"Secret", "Event", "Lease", "PolicyReport"} {
		r.want(t, "ClusterPolicy/wild "+kind)
	}
}

// TestPeriodicScan: everything is evaluated again in each interval.
func TestPeriodicScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "periodic")
	for _, name := range numbered("a", 70) {
		w.configMap(t, "periodic", name)
	}
	w.policy(t, "periodic", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := w.scan(t, func(c *scan.Config) { c.Interval = 300 * time.Millisecond })
	for _, name := range numbered("a", 70) {
		testkit.Settles(t, func() string {
			if r.compiler.count("ClusterPolicy/periodic", "ConfigMap/periodic/"+name) < 3 {
				return name + " is not evaluated again"
			}
			return ""
		})
	}
}

// TestPolicyThatCannotBeEvaluated: its results are errors, and an Event says why, once.
func TestPolicyThatCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "problem")
	w.configMap(t, "problem", "a")
	broken := spec{Targets: targets("ConfigMap"), Rules: asking("team"), Problem: "no such thing"}
	w.policy(t, "problem", broken)
	events := &events{}
	r := w.scan(t, func(c *scan.Config) { c.Recorder = events })
	r.rest(t)
	r.want(t, "ClusterPolicy/problem ConfigMap/problem/", "ClusterPolicy/problem ConfigMap/problem/a =error")
	w.update(t, clusterPolicies, "", "problem", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
	w.configMap(t, "problem", "b")
	r.want(t, "ClusterPolicy/problem ConfigMap/problem/b", "ClusterPolicy/problem ConfigMap/problem/b =error")
	if got := events.with("ClusterPolicy/problem "); len(got) != 1 || !strings.Contains(got[0], "PolicyNotEvaluated") || !strings.Contains(got[0], "no such thing") {
		t.Errorf("Events: %q", got)
	}
	broken.Problem = ""
	w.change(t, "problem", broken)
	r.want(t, "ClusterPolicy/problem ConfigMap/problem/a", "ClusterPolicy/problem ConfigMap/problem/a has-team=fail")
}

// TestPolicyThatIsPartlyUnknown: it is evaluated, and an Event says what it is evaluated without, once.
func TestPolicyThatIsPartlyUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "doubt")
	w.configMap(t, "doubt", "a")
	w.policy(t, "doubt", spec{Targets: targets("ConfigMap"), Rules: asking("team"), Doubt: "spec.surprise is new"})
	events := &events{}
	r := w.scan(t, func(c *scan.Config) { c.Recorder = events })
	r.rest(t)
	r.want(t, "ClusterPolicy/doubt ConfigMap/doubt/", "ClusterPolicy/doubt ConfigMap/doubt/a has-team=fail")
	w.update(t, clusterPolicies, "", "doubt", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
	w.configMap(t, "doubt", "b")
	r.want(t, "ClusterPolicy/doubt ConfigMap/doubt/b", "ClusterPolicy/doubt ConfigMap/doubt/b has-team=fail")
	if got := events.with("ClusterPolicy/doubt "); len(got) != 1 || !strings.Contains(got[0], "PolicyPartlyUnknown") || !strings.Contains(got[0], "spec.surprise is new") {
		t.Errorf("Events: %q", got)
	}
}
