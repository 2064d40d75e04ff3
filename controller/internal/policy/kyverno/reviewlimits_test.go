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
)

// runaway takes seconds to compare with a text of 32 letters a, and one with 30.
const runaway = "*a*a*a*a*a*a*a*a*a*a*b"

// longPod has such a text for a name.
func longPod(length int) string {
	return strings.Replace(badPod, "name: bad", "name: "+strings.Repeat("a", length), 1)
}

// TestReviewInTime promises an answer before the time of the request is over, whatever part of a
// policy takes too long.
func TestReviewInTime(t *testing.T) {
	t.Parallel()
	rule := podRule(`validate: {message: m, pattern: {metadata: {name: "` + runaway + `"}}}`)
	long := enforcing(clusterPolicy(rule))
	for name, test := range map[string]struct{ policy, cause string }{
		"pattern":      {long, "the evaluation takes longer than"},
		"match block":  {strings.Replace(enforced, "kinds: [Pod]", `kinds: [Pod], names: ["`+runaway+`"]`, 1), "the evaluation takes longer than"},
		"own limit":    {withSpec(long, "webhookConfiguration: {timeoutSeconds: 1}"), "takes longer than 1s"},
		"under Ignore": {withSpec(long, "failurePolicy: Ignore"), "the evaluation takes longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit, length := 300*time.Millisecond, 30
			if name == "own limit" {
				limit, length = time.Hour, 32
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			verdicts, err := compile(t, test.policy).Review(ctx, create(t, longPod(length)))
			if err != nil || len(verdicts) == 0 {
				t.Fatalf("%+v, %v", verdicts, err)
			}
			for _, verdict := range verdicts {
				if verdict.Outcome != "error" || verdict.Deny != (name != "under Ignore") || !strings.Contains(verdict.Message, test.cause) {
					t.Errorf("%+v", verdict)
				}
			}
			// The machine may be busy.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestPanicInAReview uses a number that JSON does not have, over which Kyverno panics.
func TestPanicInAReview(t *testing.T) {
	t.Parallel()
	p := compile(t, enforcing(clusterPolicy(podRule(`
validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.x }}", operator: Equals, value: 1}]}}}
`)+strings.Replace(podRule(`validate: {pattern: {metadata: {name: "?*"}}}`), "name: r", "name: second", 1))))
	r := create(t, badPod)
	r.New.Object["spec"].(map[string]any)["x"] = uint8(1)
	verdicts := wantVerdicts(t, p, r, "r:error!", "second:pass")
	if !strings.Contains(verdicts[0].Message, "panicked") {
		t.Errorf("message %q", verdicts[0].Message)
	}
}

// TestConcurrentReview promises the same to all who ask for the same request at the same time,
// while scans go on. The race detector sees more.
func TestConcurrentReview(t *testing.T) {
	t.Parallel()
	texts := []string{
		enforced, validatingPolicy, enforcing(withMatchCondition), strings.Replace(validatingPolicy, "'skip' in object", "'skip' in request.object", 1),
		enforcing(clusterPolicy(podRule(`validate: {message: "{{ request.userInfo.username }}", deny: {conditions: {any: [{key: "{{ images.containers.main.tag || '' }}", operator: Equals, value: latest}]}}}`))),
		enforcing(clusterPolicy(podRule(`validate: {cel: {expressions: [{expression: "object.metadata.name == oldObject.metadata.name"}]}}`))),
		enforcing(clusterPolicy(podRule(`validate: {podSecurity: {level: baseline, version: latest}}`))),
		strings.Replace(enforced, "[{resources: {kinds: [Pod]}}]", "[{resources: {kinds: [Pod]}, clusterRoles: [admin]}]", 1),
	}
	requests := []*policy.Request{
		request(t, admissionv1.Update, badPod, goodPod, withRoles(nil, []string{"admin"})), request(t, admissionv1.Update, badPod, badPod),
		create(t, goodPod), request(t, admissionv1.Update, badPod, goodPod, of(pods, "ephemeralcontainers")),
	}
	var policies []policy.Policy
	var expected [][]policy.Verdict
	for _, text := range texts {
		p := compile(t, text, exception)
		policies = append(policies, p)
		for _, r := range requests {
			verdicts, _ := review(t, p, r)
			expected = append(expected, verdicts)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				n := 0
				for _, p := range policies {
					evaluate(t, p, policy.Subject{Object: requests[0].New})
					for _, r := range requests {
						verdicts, _ := review(t, p, r)
						wantEqual(t, p.Identity().String(), expected[n], verdicts)
						n++
					}
				}
			}
		})
	}
	group.Wait()
}
