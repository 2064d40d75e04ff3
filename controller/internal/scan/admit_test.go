// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-base/metrics/testutil"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// admit gives results, and returns a function that reports whether they are decided.
func (u *unit) admit(items ...policy.Admitted) (decided func() bool) {
	done := 0
	u.evaluator.admit(items, func() { done++ })
	return func() bool { return done == 1 }
}

func (u *unit) want(t *testing.T, what string, want ...string) {
	t.Helper()
	testkit.NoDiff(t, cmp.Diff(append([]string{}, want...), u.results.lines()), "%s", what)
}

// TestAdmittedWaitsForItsSubject: results count once an object with that UID and content is there,
// and not a moment before; what was that lately is enough.
func TestAdmittedWaitsForItsSubject(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod, changed := unitPod("a", "1", "x"), unitPod("a", "1", "y")
	early := u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	u.are(p)
	u.clock.Step(time.Minute) // That policies and pods are not known yet is no reason to give up.
	u.retryAdmitted()
	u.list(t)
	u.retryAdmitted()
	u.want(t, "before the pod exists")
	if early() {
		t.Error("decided before the pod exists")
	}
	u.update(t, pod)
	u.retryAdmitted()
	u.want(t, "once it exists", "p a fail")
	if !early() {
		t.Error("not decided")
	}
	rejected := u.admit(admitted(t, p, changed, 1, report.OutcomePass))
	u.drain(t)
	u.retryAdmitted()
	u.want(t, "a change that was not made", "p a fail")
	u.update(t, changed)
	u.update(t, unitPod("a", "1", "z"))
	u.retryAdmitted()
	u.want(t, "a change that was made, and another one after it", "p a pass")
	if !rejected() {
		t.Error("not decided")
	}
	u.admit(admitted(t, p, unitPod("a", "2", "z"), 2, report.OutcomeWarn))
	u.want(t, "another pod of the same name", "p a pass")
	if n := u.drain(t); n > 1 {
		t.Errorf("%d resources in the queue", n)
	}
	u.want(t, "after its turn in the queue", "p a pass")
}

// TestAdmittedLatestWins: whatever order they come in.
func TestAdmittedLatestWins(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod := unitPod("a", "1", "x")
	u.are(p)
	u.list(t, pod)
	u.admit(admitted(t, p, pod, 5, report.OutcomeFail))
	before := testCounter(t, admittedIgnored)
	if decided := u.admit(admitted(t, p, pod, 4, report.OutcomePass)); !decided() || testCounter(t, admittedIgnored) == before {
		t.Error("an old one is not ignored")
	}
	u.want(t, "an older one", "p a fail")
	u.admit(admitted(t, p, pod, 6, report.OutcomePass, report.OutcomeSkip))
	u.want(t, "a later one", "p a pass skip")
	u.admit(admitted(t, p, pod, 7))
	u.want(t, "a later one with nothing")
	u.admit(admitted(t, p, pod, 6, report.OutcomePass))
	u.want(t, "an older one than nothing")
	other := admitted(t, p, pod, 8, report.OutcomeFail)
	other.Resource.Version, other.Content = "v2", policy.Content{1}
	u.admit(other)
	u.want(t, "one in another version", "p a fail")
}

// TestAdmittedGoesWithItsSubject: also if that was never evaluated, and if the policy is no longer
// for it. A changed policy alone removes nothing.
func TestAdmittedGoesWithItsSubject(t *testing.T) {
	t.Parallel()
	for _, processed := range []bool{true, false} {
		u, p := newUnit(t), unitNamed("p", true)
		pod, other := unitPod("a", "1", "x"), unitPod("b", "2", "x")
		u.are(p)
		u.list(t, pod, other)
		if processed {
			u.drain(t)
		}
		u.admit(admitted(t, p, pod, 0, report.OutcomeFail), admitted(t, p, other, 0, report.OutcomeFail))
		u.want(t, "before", "p a fail", "p b fail")
		testkit.NoError(t, u.pods.Delete(pod))
		u.drain(t)
		if late := u.admit(admitted(t, p, pod, 1, report.OutcomeFail)); !late() {
			t.Error("results for a pod that is gone wait")
		}
		u.want(t, "after the end of one", "p b fail")
		p.fingerprint = "2"
		u.are(p)
		u.drain(t)
		u.want(t, "with another policy", "p b fail")
		u.admit(admitted(t, p, other, 1, report.OutcomeWarn))
		u.want(t, "with results of that", "p b warn")
		p.fingerprint, p.targets = "3", []policy.Target{{Version: "v1", Kind: "Secret"}}
		u.are(p)
		u.drain(t)
		u.want(t, "with a policy for something else")
	}
}

// TestAdmittedDeletion: a deletion that is refused later removes nothing, and one that takes place
// is decided.
func TestAdmittedDeletion(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod := unitPod("a", "1", "x")
	u.are(p)
	u.list(t, pod)
	u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	deletion := admitted(t, p, pod, 1)
	deletion.Deleted = true
	decided := u.admit(deletion)
	u.want(t, "while it exists", "p a fail")
	if decided() {
		t.Error("a deletion that has not taken place is decided")
	}
	testkit.NoError(t, u.pods.Delete(pod))
	u.drain(t)
	u.retryAdmitted()
	u.want(t, "after its end")
	if !decided() {
		t.Error("a deletion that has taken place waits")
	}
}

// TestAdmittedWhileEvaluated: a result that arrives while a worker has the subject is not forgotten.
func TestAdmittedWhileEvaluated(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod := unitPod("a", "1", "x")
	u.are(unitNamed("b", false))
	u.list(t, pod)
	rs, _ := u.queue.get()
	todo := u.pods.begin(rs)
	u.are(unitNamed("b", false), p)
	u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	u.pods.finish(rs, todo)
	testkit.NoError(t, u.pods.Delete(pod))
	u.queue.done(rs)
	u.drain(t)
	u.want(t, "after the end of the pod")
}

// TestAdmittedOfOtherPolicies: those of the background scan are ignored at once, those of policies
// that are not known or say something else after a while, in which they may come to be known.
func TestAdmittedOfOtherPolicies(t *testing.T) {
	t.Parallel()
	u, p, scanned := newUnit(t), unitNamed("p", true), unitNamed("scanned", false)
	pod := unitPod("a", "1", "x")
	u.are(p, scanned)
	u.list(t, pod)
	u.drain(t)
	scan := []string{"scanned a pass"}
	u.want(t, "before", scan...)
	if decided := u.admit(admitted(t, scanned, pod, 0, report.OutcomeFail)); !decided() {
		t.Error("results of a background policy wait")
	}
	u.want(t, "of a background policy", scan...)
	next, unknown := p, unitNamed("unknown", true)
	next.fingerprint = "2"
	early, never := u.admit(admitted(t, next, pod, 0, report.OutcomeFail)), u.admit(admitted(t, unknown, pod, 0, report.OutcomeFail))
	u.clock.Step(policyPatience - time.Second)
	u.retryAdmitted()
	if early() || never() {
		t.Error("ignored before the time is over")
	}
	u.are(next, scanned)
	u.clock.Step(time.Second)
	u.retryAdmitted()
	u.want(t, "of a policy that came to be known", append([]string{"p a fail"}, scan...)...)
	if !early() || !never() {
		t.Error("not decided")
	}
	if decided := u.admit(); !decided() {
		t.Error("nothing is not decided")
	}
}

// TestPolicyChangesWhatItIsFor: the results of one way are not those of the other.
func TestPolicyChangesWhatItIsFor(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod := unitPod("a", "1", "x")
	u.are(p)
	u.list(t, pod)
	u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	p.admission = false
	u.are(p)
	u.want(t, "before the scan")
	u.drain(t)
	u.want(t, "after it", "p a pass")
	p.admission = true
	u.are(p)
	u.drain(t)
	u.want(t, "for requests again")
	u.admit(admitted(t, p, pod, 1, report.OutcomeWarn))
	u.want(t, "after one", "p a warn")
	u.are()
	u.want(t, "without the policy")
}

// TestAdmittedExpires: what never comes to exist is dropped.
func TestAdmittedExpires(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	u.are(p)
	u.list(t)
	pod := unitPod("a", "1", "x")
	decided := u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	u.clock.Step(subjectPatience - time.Second)
	u.retryAdmitted()
	if decided() {
		t.Error("dropped too early")
	}
	u.clock.Step(time.Second)
	u.retryAdmitted()
	if !decided() {
		t.Error("not dropped")
	}
	u.update(t, pod)
	u.retryAdmitted()
	u.want(t, "a pod that comes later")
}

// TestAdmittedIsBounded: what waits longest is dropped, and the rest is decided in its time.
func TestAdmittedIsBounded(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	u.are(p)
	u.list(t)
	first := u.admit(admitted(t, p, unitPod("first", "first", "x"), 0, report.OutcomeFail))
	flood := make([]policy.Admitted, 0, maxWaiting)
	for i := range maxWaiting {
		flood = append(flood, admitted(t, p, unitPod("a", fmt.Sprint(i), "x"), 0, report.OutcomeFail))
	}
	second := u.admit(flood[1:]...)
	if first() {
		t.Fatal("dropped before it has to be")
	}
	third := u.admit(flood[0])
	if !first() || second() || third() || len(u.waiting.list) != maxWaiting {
		t.Errorf("first %v, others %v %v, %d wait", first(), second(), third(), len(u.waiting.list))
	}
	// Many versions of a resource are bounded, too.
	for i := range historySize + 10 {
		u.update(t, unitPod("b", "b", fmt.Sprint(i)))
	}
	if n := len(u.pods.history.known); n > historySize {
		t.Errorf("%d versions are remembered", n)
	}
	u.clock.Step(2 * subjectPatience)
	u.retryAdmitted()
	u.update(t, unitPod("b", "b", "last"))
	if n := len(u.pods.history.known); n != 1 || !second() || !third() {
		t.Errorf("%d versions are remembered later; decided: %v %v", n, second(), third())
	}
}

// TestAdmittedAfterTheEnd: nothing is set, and no callback is called.
func TestAdmittedAfterTheEnd(t *testing.T) {
	t.Parallel()
	u, p := newUnit(t), unitNamed("p", true)
	pod := unitPod("a", "1", "x")
	u.are(p)
	u.list(t)
	waits := u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	u.waiting.close()
	u.update(t, pod)
	u.retryAdmitted()
	late := u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	if waits() || late() {
		t.Error("decided by nobody")
	}
	u.want(t, "after the end")
}

// TestAdmittedOfAnEarlierProcess: stored results stay if their policy and subject exist.
func TestAdmittedOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	u, p, scanned := newUnit(t), unitNamed("p", true), unitNamed("scanned", false)
	pod := unitPod("a", "1", "x")
	u.are(p, scanned)
	u.list(t, pod, unitPod("gone", "2", "x"))
	u.drain(t)
	if err := u.pods.Delete(unitPod("gone", "2", "x")); err != nil {
		t.Fatal(err)
	}
	keep := u.keeper(&unknown{})
	for name, test := range map[string]struct {
		policy policy.Identity
		pod    *unstructured.Unstructured
		kind   string
		want   bool
	}{
		"exists":             {p.Identity(), pod, "Pod", true},
		"another UID":        {p.Identity(), unitPod("a", "3", "x"), "Pod", false},
		"being cleared":      {p.Identity(), unitPod("gone", "2", "x"), "Pod", false},
		"another kind":       {p.Identity(), pod, "Secret", false},
		"unknown policy":     {policy.Identity{Kind: "ClusterPolicy", Name: "x"}, pod, "Pod", false},
		"policy of the scan": {scanned.Identity(), pod, "Pod", false},
	} {
		reference := policy.ReferenceTo(test.pod)
		reference.Kind = test.kind
		if got := keep(test.policy, reference, ""); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTargetsAtAdmission: a target of the object itself is a reason to watch it.
func TestTargetsAtAdmission(t *testing.T) {
	t.Parallel()
	for subresource, want := range map[string]bool{"": true, "status": true, "*": true, "ephemeralcontainers": true, "exec": false} {
		targets := ofSubjects([]policy.Target{{Version: "v1", Kind: "Pod", Subresource: subresource}})
		if got := targets[0].Matches(unitPods.GVK(), unitPods.Resource); got != want {
			t.Errorf("%q: %v", subresource, got)
		}
	}
}

func testCounter(t *testing.T, outcome string) float64 {
	t.Helper()
	Register()
	return testkit.Must(testutil.GetCounterMetricValue(admittedResults.WithLabelValues(outcome)))(t)
}
