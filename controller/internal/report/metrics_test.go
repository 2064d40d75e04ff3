// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// policyResults returns the series of the results by policy, and how many pairs have none.
func policyResults(t *testing.T) map[string]float64 {
	t.Helper()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(t)
	series := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "docket_controller_policy_results") {
			continue
		}
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", family.GetName())
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			name := strings.TrimSpace(fmt.Sprint(labels["policy_kind"], " ", labels["policy"], " ", labels["subject_namespace"], " ", labels["outcome"]))
			series[name] = metric.GetGauge().GetValue()
		}
	}
	return series
}

// TestPolicyResults: results are counted by policy, namespace and outcome; series that stand for
// nothing any more go. Beyond the limit they are summed up, and those that move up are not.
func TestPolicyResults(t *testing.T) {
	t.Parallel()
	RegisterMetrics() // Before anything is counted.
	l, _ := newTestLayout(Options{Split: true, Series: 3})
	step := func(name string, want map[string]float64) {
		t.Helper()
		l.observe()
		testkit.NoDiff(t, cmp.Diff(want, policyResults(t)), "%s (-want +got)", name)
	}
	own := policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "a", Name: "p"}
	for _, name := range []string{"x", "y"} {
		l.Set(clusterPolicy("p"), pod("a", name), []policy.Result{fail("r", "m"), pass("s")})
	}
	l.Set(own, pod("a", "x"), []policy.Result{pass("r")})
	l.Set(clusterPolicy("p"), policy.Reference{APIVersion: "v1", Kind: "Node", Name: "n"}, []policy.Result{fail("r", "m")})
	want := map[string]float64{
		"": 0, "ClusterPolicy p a fail": 2, "ClusterPolicy p a pass": 2, "ClusterPolicy p  fail": 1, "Policy a/p a pass": 1,
	}
	step("three pairs", want)

	over := maps.Clone(want)
	over[""], over["(others) (others) fail"] = 2, 3
	l.Set(clusterPolicy("q"), pod("a", "x"), []policy.Result{fail("r", "m")})
	l.Set(clusterPolicy("p"), pod("b", "x"), []policy.Result{fail("r", "m"), fail("s", "m")})
	step("five pairs", over)

	l.Set(clusterPolicy("p"), pod("a", "y"), nil)
	l.RemovePolicy(own)
	step("the first of the others moves up", map[string]float64{
		"": 1, "ClusterPolicy p a fail": 1, "ClusterPolicy p a pass": 1, "ClusterPolicy p  fail": 1, "ClusterPolicy p b fail": 2,
		"(others) (others) fail": 1,
	})
	shown := presentation()
	shown.Scored = false
	l.Present(clusterPolicy("p"), shown)
	l.RemovePolicy(clusterPolicy("q"))
	step("failures become warnings", map[string]float64{
		"": 0, "ClusterPolicy p a warn": 1, "ClusterPolicy p a pass": 1, "ClusterPolicy p  warn": 1, "ClusterPolicy p b warn": 2,
	})
	l.RemovePolicy(clusterPolicy("p"))
	step("nothing is left", map[string]float64{"": 0})
}
