// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// runaway takes seconds to compare with a text of 32 letters a, and one with 30.
const runaway = "*a*a*a*a*a*a*a*a*a*a*b"

// longPod has such a text for a name.
func longPod(length int) string {
	return strings.Replace(enginetest.BadPod, "name: bad", "name: "+strings.Repeat("a", length), 1)
}

// TestReviewInTime promises an answer before the time of the request has ended, whatever part of a
// policy takes too long.
func TestReviewInTime(t *testing.T) {
	t.Parallel()
	rule := enginetest.PodRule(`validate: {message: m, pattern: {metadata: {name: "` + runaway + `"}}}`)
	long := enginetest.Enforcing(enginetest.ClusterPolicy(rule))
	for name, test := range map[string]struct{ policy, cause string }{
		"pattern":      {long, "the evaluation takes longer than"},
		"match block":  {strings.Replace(enginetest.Enforced, "kinds: [Pod]", `kinds: [Pod], names: ["`+runaway+`"]`, 1), "the evaluation takes longer than"},
		"own limit":    {enginetest.WithSpec(long, "webhookConfiguration: {timeoutSeconds: 1}"), "takes longer than 1s"},
		"under Ignore": {enginetest.WithSpec(long, "failurePolicy: Ignore"), "the evaluation takes longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit, length := 300*time.Millisecond, 30
			if name == "own limit" {
				limit, length = time.Hour, 32
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			verdicts, err := compile(t, test.policy).Review(ctx, enginetest.Create(t, longPod(length)))
			if err != nil || len(verdicts) == 0 {
				t.Fatalf("%+v, %v", verdicts, err)
			}
			for _, verdict := range verdicts {
				if verdict.Outcome != "error" || verdict.Deny != (name != "under Ignore") || !strings.Contains(verdict.Message, test.cause) {
					t.Errorf("%+v", verdict)
				}
			}
		})
	}
}

// TestPanicInAReview uses a number that JSON does not have, over which Kyverno panics.
func TestPanicInAReview(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`
validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.x }}", operator: Equals, value: 1}]}}}
`)+strings.Replace(enginetest.PodRule(`validate: {pattern: {metadata: {name: "?*"}}}`), "name: r", "name: second", 1))))
	r := enginetest.Create(t, enginetest.BadPod)
	r.New.Object["spec"].(map[string]any)["x"] = uint8(1)
	verdicts := enginetest.WantVerdicts(t, p, r, "r:error!", "second:pass")
	if !strings.Contains(verdicts[0].Message, "panicked") {
		t.Errorf("message %q", verdicts[0].Message)
	}
}

// TestConcurrentReview promises the same to all who ask for the same request at the same time,
// while scans go on. The race detector sees more.
func TestConcurrentReview(t *testing.T) {
	t.Parallel()
	texts := []string{
		enginetest.Enforced, enginetest.ValidatingPolicy, enginetest.Enforcing(enginetest.WithMatchCondition), strings.Replace(enginetest.ValidatingPolicy, "'skip' in object", "'skip' in request.object", 1),
		enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`validate: {message: "{{ request.userInfo.username }}", deny: {conditions: {any: [{key: "{{ images.containers.main.tag || '' }}", operator: Equals, value: latest}]}}}`))),
		enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`validate: {cel: {expressions: [{expression: "object.metadata.name == oldObject.metadata.name"}]}}`))),
		enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule(`validate: {podSecurity: {level: baseline, version: latest}}`))),
		strings.Replace(enginetest.Enforced, "[{resources: {kinds: [Pod]}}]", "[{resources: {kinds: [Pod]}, clusterRoles: [admin]}]", 1),
	}
	requests := []*policy.Request{
		enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.WithRoles(nil, []string{"admin"})), enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.BadPod),
		enginetest.Create(t, enginetest.GoodPod), enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.Of(enginetest.Pods, "ephemeralcontainers")),
	}
	var policies []policy.Policy
	var expected [][]policy.Verdict
	for _, text := range texts {
		p := compile(t, text, enginetest.Exception)
		policies = append(policies, p)
		for _, r := range requests {
			verdicts, _ := enginetest.Review(t, p, r)
			expected = append(expected, verdicts)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				n := 0
				for _, p := range policies {
					enginetest.Evaluate(t, p, policy.Subject{Object: requests[0].New})
					for _, r := range requests {
						verdicts, _ := enginetest.Review(t, p, r)
						enginetest.WantEqual(t, p.Identity().String(), expected[n], verdicts)
						n++
					}
				}
			}
		})
	}
	group.Wait()
}
