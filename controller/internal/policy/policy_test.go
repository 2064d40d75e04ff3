// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

func TestIdentityRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []policy.Identity{
		{Kind: policy.ClusterPolicy, Name: "require-labels"},
		{Kind: policy.NamespacedPolicy, Namespace: "team-a", Name: "require.labels"},
	} {
		if got, err := policy.ParseIdentity(want.String()); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", want, got, err)
		}
	}
	for _, text := range []string{"", "ClusterPolicy", "ClusterPolicy/", "/a", "a//b", "a/b/c/d"} {
		if got, err := policy.ParseIdentity(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestTargetMatches(t *testing.T) {
	t.Parallel()
	pods, deployments := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for name, test := range map[string]struct {
		target    policy.Target
		pod, work bool
	}{
		"kind":        {policy.Target{Group: "*", Version: "*", Kind: "Pod"}, true, false},
		"core group":  {policy.Target{Version: "v1", Resource: "*"}, true, false},
		"resources":   {policy.Target{Group: "apps", Version: "v1", Resource: "deployments"}, false, true},
		"all":         {policy.Target{Group: "*", Version: "*", Kind: "*"}, true, true},
		"wildcard":    {policy.Target{Group: "*", Version: "v?", Kind: "*o*"}, true, true},
		"subresource": {policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "exec"}, false, false},
		"bad pattern": {policy.Target{Group: "*", Version: "*", Kind: "[Pod"}, false, false},
	} {
		if pod, work := test.target.Matches(pods, "pods"), test.target.Matches(deployments, "deployments"); pod != test.pod || work != test.work {
			t.Errorf("%s: pods %v, deployments %v", name, pod, work)
		}
	}
}

// TestReviewTimeout: whole seconds, and no less and no more than a webhook configuration can have.
func TestReviewTimeout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ usual, asked, want time.Duration }{
		{10 * time.Second, 0, 10 * time.Second}, {10 * time.Second, 5 * time.Second, 10 * time.Second}, {10 * time.Second, 15 * time.Second, 15 * time.Second},
		{10 * time.Second, time.Hour, 30 * time.Second}, {0, 0, time.Second}, {1100 * time.Millisecond, 0, 2 * time.Second}, {29*time.Second + 1, 0, 30 * time.Second},
	} {
		if got := policy.ReviewTimeout(test.usual, test.asked); got != test.want {
			t.Errorf("%s, and a policy with %s: %s, want %s", test.usual, test.asked, got, test.want)
		}
	}
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	excluded := policy.NewExclusion(schema.GroupResource{Group: "*", Resource: "gadgets"}, schema.GroupResource{Resource: "secrets"})
	for resource, want := range map[schema.GroupResource]bool{
		{Resource: "pods"}:                                    false,
		{Resource: "secrets"}:                                 true,
		{Resource: "events"}:                                  true,
		{Group: "example.com", Resource: "gadgets"}:           true,
		{Group: "example.com", Resource: "events"}:            false,
		{Group: "wgpolicyk8s.io", Resource: "policyreports"}:  true,
		{Group: "reports.kyverno.io", Resource: "whatever"}:   true,
		{Group: policy.KyvernoGroup, Resource: "policies"}:    false,
		{Group: "coordination.k8s.io", Resource: "leases"}:    true,
		{Group: "discovery.k8s.io", Resource: "endpointlice"}: false,
	} {
		if got := excluded.Has(resource); got != want {
			t.Errorf("%s: %v", resource, got)
		}
	}
}
