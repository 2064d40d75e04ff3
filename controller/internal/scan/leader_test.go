// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestLeaderLater: a scanner that starts, and starts again, when the policies have been known for
// long finds what any other finds.
func TestLeaderLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "later")
	configMap := w.create(t, configMaps, object("v1", "ConfigMap", "later", "a"))
	w.policy(t, "later", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	r := newRunning()
	config, _ := w.support(t, r)
	testkit.Settles(t, func() string { return errorText(config.Policies.Ready()) })
	const line = "ClusterPolicy/later ConfigMap/later/a has-team=fail"
	for range 2 {
		r.results = newResults()
		r.results.load(clusterPolicy("later"), policy.ReferenceTo(configMap), "has-team=fail")
		config.Results = r.results
		r.lead(t, config)
		r.rest(t)
		r.want(t, "ClusterPolicy/later ConfigMap/later/", line)
		r.stop()
	}
	w.change(t, "later", spec{Targets: targets("ConfigMap"), Rules: asking("owner")})
	r.results = newResults()
	config.Results = r.results
	r.lead(t, config)
	r.want(t, "ClusterPolicy/later ConfigMap/later/", "ClusterPolicy/later ConfigMap/later/a has-owner=fail")
}

// TestKindOfPoliciesIsBeingListed: while that of a new kind of policies is under way, nothing is
// removed, though the policies of all other kinds are known.
func TestKindOfPoliciesIsBeingListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "listing")
	configMap := w.create(t, configMaps, object("v1", "ConfigMap", "listing", "a"))
	w.policy(t, "listing", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	kind := schema.GroupVersionResource{Group: policy.CELGroup, Version: "v1", Resource: "namespacedvalidatingpolicies"}
	r, up, asked := newRunning(), make(chan struct{}), atomic.Bool{}
	r.via = w.hooked(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, "/"+kind.Resource) {
			asked.Store(true)
			select {
			case <-up:
			case <-request.Context().Done():
				return nil, request.Context().Err()
			}
		}
		return next.RoundTrip(request)
	})
	config, _ := w.support(t, r)
	testkit.Settles(t, func() string { return errorText(config.Policies.Ready()) })
	testkit.NoError(t, w.define(t.Context(), kind))
	testkit.NoError(t, w.awaitKind(t.Context(), kind))
	p := policyObject(t, "p", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	p.SetAPIVersion("policies.kyverno.io/v1")
	p.SetKind("NamespacedValidatingPolicy")
	p.SetNamespace("listing")
	w.create(t, kind, p)
	testkit.Settles(t, func() string {
		if !asked.Load() {
			return "the kind is not noticed"
		}
		return ""
	})
	id := policy.Identity{Kind: p.GetKind(), Namespace: "listing", Name: "p"}
	r.results.load(id, policy.ReferenceTo(configMap), "has-team=pass")
	r.lead(t, config)
	r.want(t, "ClusterPolicy/listing ConfigMap/listing/", "ClusterPolicy/listing ConfigMap/listing/a has-team=fail")
	// If the scan were thought to be over, it would be soon.
	testkit.Settles(t, func() string {
		if err := r.scanner.Ready(); err == nil || !strings.HasSuffix(err.Error(), "waits for the policies") {
			return fmt.Sprint("it says ", err)
		}
		return ""
	})
	if r.scanner.Idle() {
		t.Error("nothing is waited for")
	}
	r.want(t, id.String(), id.String()+" ConfigMap/listing/a has-team=pass")
	close(up)
	r.want(t, id.String()+" ConfigMap/listing/", id.String()+" ConfigMap/listing/a has-team=fail")
	r.rest(t)
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestAdmittedResults: those of a policy that is for requests alone come and go with their subject,
// its policy and later requests, also after a start.
func TestAdmittedResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "admitted")
	says := spec{Targets: targets("ConfigMap"), Rules: asking("team"), Admission: true, Requests: true}
	w.policy(t, "admitted", says)
	kept := w.create(t, configMaps, object("v1", "ConfigMap", "admitted", "kept"))
	r := newRunning()
	r.results.load(clusterPolicy("admitted"), policy.ReferenceTo(kept), "has-team=fail")
	gone := policy.ReferenceTo(kept)
	gone.UID = "1"
	r.results.load(clusterPolicy("admitted"), gone, "has-team=pass")
	r.results.load(clusterPolicy("admitted-gone"), policy.ReferenceTo(kept), "has-team=fail")
	w.start(t, r)
	r.rest(t)
	const prefix = "ClusterPolicy/admitted ConfigMap/admitted/"
	r.want(t, prefix, prefix+"kept has-team=fail")
	r.want(t, "ClusterPolicy/admitted-gone")

	decided := make(chan string, 10)
	admit := func(name string, o *unstructured.Unstructured, outcome report.Outcome) {
		t.Helper()
		content := testkit.Must(policy.ContentOf(o))(t)
		r.scanner.Admit([]policy.Admitted{{
			Policy: clusterPolicy("admitted"), Fingerprint: fingerprintOf(t, r, "admitted"), Resource: configMaps,
			Subject: policy.ReferenceTo(o), Content: content, Time: time.Now(),
			Results: []policy.Result{{Rule: "asked", Outcome: outcome}},
		}}, func() { decided <- name })
	}
	await := func(want string) {
		t.Helper()
		select {
		case got := <-decided:
			if got != want {
				t.Errorf("%s is decided, want %s", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("%s is not decided", want)
		}
	}
	created := w.create(t, configMaps, object("v1", "ConfigMap", "admitted", "a"))
	admit("created", created, report.OutcomeFail)
	await("created")
	r.want(t, prefix, prefix+"a asked=fail", prefix+"kept has-team=fail")
	rejected := created.DeepCopy()
	rejected.Object["data"] = map[string]any{"not": "accepted"}
	admit("changed", rejected, report.OutcomePass)
	w.update(t, configMaps, "admitted", "a", func(o *unstructured.Unstructured) { setLabels(o, "team") })
	r.want(t, prefix, prefix+"a asked=fail", prefix+"kept has-team=fail")
	w.update(t, configMaps, "admitted", "a", func(o *unstructured.Unstructured) {
		o.SetLabels(nil)
		o.Object["data"] = rejected.Object["data"]
	})
	await("changed")
	r.want(t, prefix, prefix+"a asked=pass", prefix+"kept has-team=fail")
	says.Rules = asking("owner")
	w.change(t, "admitted", says)
	w.remove(t, configMaps, "admitted", "kept")
	r.want(t, prefix, prefix+"a asked=pass")
	w.remove(t, clusterPolicies, "", "admitted")
	r.want(t, prefix)
	if n := r.compiler.count("ClusterPolicy/admitted", "ConfigMap/admitted/"); n != 0 {
		t.Errorf("it was evaluated %d times", n)
	}
}

// TestKindOfRequestsIsScannedLater: resources that only policies for requests were for are evaluated
// when another policy comes, and the results of requests stay.
func TestKindOfRequestsIsScannedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.namespace(t, "lean")
	quota := w.create(t, quotas, object("v1", "ResourceQuota", "lean", "a"))
	w.policy(t, "lean-requests", spec{Targets: targets("ResourceQuota"), Admission: true, Requests: true})
	r := newRunning()
	r.results.load(clusterPolicy("lean-requests"), policy.ReferenceTo(quota), "asked=fail")
	w.start(t, r)
	r.rest(t)
	for range 2 {
		r.want(t, "ClusterPolicy/lean-", "ClusterPolicy/lean-requests ResourceQuota/lean/a asked=fail")
		w.policy(t, "lean-scan", spec{Targets: targets("ResourceQuota"), Rules: asking("team")})
		r.want(t, "ClusterPolicy/lean-scan ResourceQuota/lean/", "ClusterPolicy/lean-scan ResourceQuota/lean/a has-team=fail")
		r.want(t, "ClusterPolicy/lean-requests", "ClusterPolicy/lean-requests ResourceQuota/lean/a asked=fail")
		w.remove(t, clusterPolicies, "", "lean-scan")
		r.want(t, "ClusterPolicy/lean-scan")
	}
}

// fingerprintOf returns that of a cluster policy as it is.
func fingerprintOf(t *testing.T, r *running, name string) string {
	t.Helper()
	item := r.policies.Current().Find(clusterPolicy(name))
	if item == nil {
		t.Fatalf("no policy %s", name)
	}
	return item.Policy.Fingerprint()
}
