// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

func (f *fakeEvaluation) name(i int) string { return summary(f.fail(i, errBusy))[:1] }

// slowToFail can't tell what its steps are about, until it is released.
type slowToFail struct{ *fakeEvaluation }

func (s *slowToFail) fail(i int, cause error) []policy.Result {
	<-s.release
	return s.fakeEvaluation.fail(i, cause)
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

func TestReviewTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &limits{timeout: time.Minute}
		for _, test := range []struct{ left, own, want time.Duration }{
			{time.Second, 0, 950 * time.Millisecond}, {10 * time.Second, 3 * time.Second, 3 * time.Second},
			{time.Hour, 0, time.Minute}, {0, 2 * time.Second, 2 * time.Second},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if test.left > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), test.left)
			}
			start, work := time.Now(), newFake(3, -1, 1)
			results, err := l.review(ctx, test.own, work)
			if err != nil || summary(results) != "0:pass 1:error 2:error" || !strings.Contains(results[1].Message, test.want.String()) {
				t.Errorf("%+v, %v, want %s", results, err, test.want)
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("it took %s, want %s", took, test.want)
			}
			close(work.release)
			cancel()
		}
		over, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-over.Done()
		if results, err := l.review(over, 0, newFake(2, -1, -1)); err != nil || summary(results) != "0:error 1:error" {
			t.Errorf("after the time: %+v, %v", results, err)
		}
		synctest.Wait()
	})
}

// TestReviewWhoseFailureTakesLong promises that rules count as matching, after a moment, and that
// few goroutines find out what for.
func TestReviewWhoseFailureTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &limits{timeout: time.Second}
		var blocked []*fakeEvaluation
		for i := range 2 * maxAbandoned {
			work := newFake(3, -1, 0)
			blocked = append(blocked, work)
			start := time.Now()
			results, err := l.review(t.Context(), 0, &slowToFail{work})
			if err != nil || summary(results) != "0:error 1:error 2:error" {
				t.Fatalf("%+v, %v", results, err)
			}
			if took := time.Since(start); took > l.timeout+failTime || i >= maxAbandoned && took != 0 {
				t.Errorf("it took %s", took)
			}
		}
		if left := l.undecided.Load(); left != maxAbandoned {
			t.Errorf("%d are undecided, want %d", left, maxAbandoned)
		}
		for _, work := range blocked {
			close(work.release)
		}
		synctest.Wait()
		if left := l.undecided.Load(); left != 0 {
			t.Errorf("%d are undecided", left)
		}
	})
}

func TestCanceledReview(t *testing.T) {
	t.Parallel()
	l, work := &limits{timeout: time.Minute}, newFake(1, -1, 0)
	defer close(work.release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-work.started
		cancel()
	}()
	if results, err := l.review(ctx, 0, work); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%+v, %v", results, err)
	}
	for _, p := range []policy.Policy{compile(t, enforced), compile(t, validatingPolicy)} {
		if _, err := p.Review(ctx, create(t, badPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Identity(), err)
		}
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
		create(t, goodPod), request(t, admissionv1.Update, badPod, goodPod, of(pods, ephemeralContainers)),
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
