// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// partPolicy is a policy of which the engine does not evaluate everything.
type partPolicy struct {
	unitPolicy

	coverage policy.Coverage
}

func (p partPolicy) Coverage() policy.Coverage { return p.coverage }

// part has r0, which is evaluated, and others, which are not.
func part(others ...string) partPolicy {
	p := partPolicy{unitPolicy: unitNamed("p", false), coverage: policy.Coverage{Rules: map[string]bool{"r0": true}}}
	for _, rule := range others {
		p.coverage.Rules[rule] = false
	}
	return p
}

// newAdopting returns a unit that adopts results.
func newAdopting(t *testing.T) *unit {
	t.Helper()
	u := newUnit(t)
	u.config.Adopt = true
	return u
}

// plan does with policies what the planner does.
func (u *unit) plan() {
	u.renewAdopting()
	var current []*compiled
	for _, state := range u.states() {
		if c := state.current; c != nil {
			for _, target := range c.targets {
				if target.Matches(unitPods.GVK(), unitPods.Resource) {
					current = append(current, c)
					break
				}
			}
		}
	}
	u.pods.setPolicies(current, false)
}

// found is what Kyverno has found about a pod, second seconds after the start: outcomes of rules.
func found(p policy.Policy, pod *unstructured.Unstructured, second int, outcomes ...string) policy.Admitted {
	a := policy.Admitted{
		Policy: p.Identity(), Adopted: true, Resource: unitPods.GroupVersionResource,
		Subject: policy.ReferenceTo(pod), Time: time.Unix(int64(1_000_000+second), 0),
	}
	for i := 0; i < len(outcomes); i += 2 {
		a.Results = append(a.Results, policy.Result{Rule: outcomes[i], Outcome: report.Outcome(outcomes[i+1])})
	}
	return a
}

// TestAdoptedBesideEvaluated: rules that are not evaluated here get Kyverno's results, of which each
// replaces the earlier one of its rule; what it says of other rules is ignored.
func TestAdoptedBesideEvaluated(t *testing.T) {
	t.Parallel()
	u, p := newAdopting(t), part("m1", "m2")
	pod := unitPod("a", "1", "x")
	u.areAll(p)
	u.plan()
	u.list(t, pod)
	u.drain(t)
	u.want(t, "evaluated", "p a pass")
	decided := u.admit(found(p, pod, 1, "m1", "fail", "r0", "error", "gone", "fail"))
	u.want(t, "before pods are watched for it", "p a pass")
	u.plan()
	u.retryAdmitted()
	u.want(t, "one rule", "p a pass fail")
	if !decided() {
		t.Error("not decided")
	}
	u.admit(found(p, pod, 2, "m2", "warn"))
	u.want(t, "another rule", "p a pass fail warn")
	u.admit(found(p, pod, 0, "m1", "pass"))
	u.want(t, "an older one", "p a pass fail warn")
	u.update(t, unitPod("a", "1", "y"))
	u.drain(t)
	u.want(t, "after the pod has changed", "p a fail warn pass")
	u.admit(found(p, pod, 3, "m1", "pass"))
	u.want(t, "a later one", "p a warn pass pass")
	u.areAll(part("m2"))
	u.plan()
	u.want(t, "without a rule", "p a warn pass")
	if ignored := u.admit(found(p, pod, 4, "r0", "fail")); ignored() {
		t.Error("a rule that may be new is ignored at once")
	}
	testkit.NoError(t, u.pods.Delete(pod))
	u.drain(t)
	u.want(t, "without the pod")
}

// TestAdoptedOnly: policies of which nothing is evaluated have one result for each subject, the latest, for
// as long as the policy exists.
func TestAdoptedOnly(t *testing.T) {
	t.Parallel()
	u := newAdopting(t)
	p := partPolicy{unitPolicy: unitNamed("m", true), coverage: policy.Coverage{None: true}}
	p.targets = []policy.Target{}
	pod, unnamed := unitPod("a", "1", "x"), unitPod("a", "", "x")
	u.areAll(p)
	u.list(t, pod)
	u.admit(found(p, unnamed, 1, "x", "fail", "y", "pass"))
	u.plan()
	u.retryAdmitted()
	u.want(t, "found by name", "m a fail")
	u.admit(found(p, unitPod("a", "2", "x"), 2, "", "pass"))
	u.want(t, "another pod of that name", "m a fail")
	u.admit(found(p, pod, 2, "", "pass"))
	u.want(t, "another rule", "m a pass")
	kindOnly := found(p, pod, 3, "", "skip")
	kindOnly.Resource.Resource = ""
	u.admit(kindOnly)
	u.plan()
	u.retryAdmitted()
	u.want(t, "without the resource", "m a skip")
	u.areAll()
	u.want(t, "without the policy")
	late := u.admit(found(p, pod, 4, "", "fail"))
	if late() {
		t.Error("a policy that may be new is ignored at once")
	}
	u.clock.Step(policyPatience)
	u.retryAdmitted()
	if !late() {
		t.Error("not ignored")
	}
}

// TestAdoptedForAdmission: policies for admission are Kyverno's, unless requests are answered here.
func TestAdoptedForAdmission(t *testing.T) {
	t.Parallel()
	for _, admission := range []bool{false, true} {
		u := newAdopting(t)
		u.config.Admission = admission
		p := part("m")
		p.admission = true
		pod := unitPod("a", "1", "x")
		u.areAll(p)
		u.list(t, pod)
		u.plan()
		u.admit(found(p, pod, 1, "r0", "fail", "m", "warn"))
		u.plan()
		u.retryAdmitted()
		if admission {
			u.want(t, "with admission", "p a warn")
			u.admit(admitted(t, p.unitPolicy, pod, 2, report.OutcomePass))
			u.want(t, "of the request", "p a warn pass")
		} else {
			u.want(t, "without admission", "p a fail warn")
		}
	}
}

// TestAdoptedStayAfterRestart: results of before stay if their policy, rule and subject exist.
func TestAdoptedStayAfterRestart(t *testing.T) {
	t.Parallel()
	u, p := newAdopting(t), part("m")
	pod := unitPod("a", "1", "x")
	u.left = map[policy.Identity][]schema.GroupVersionKind{p.Identity(): {unitPods.GVK()}}
	u.areAll(p)
	u.plan()
	u.list(t, pod)
	keep := u.keeper(&unknown{})
	for _, test := range []struct {
		pod  *unstructured.Unstructured
		rule string
		want bool
	}{{pod, "m", true}, {pod, "r0", false}, {pod, "gone", false}, {unitPod("b", "2", "x"), "m", false}, {unitPod("a", "2", "x"), "m", false}} {
		if got := keep(p.Identity(), policy.ReferenceTo(test.pod), test.rule); got != test.want {
			t.Errorf("%s %s: %v", test.pod.GetName(), test.rule, got)
		}
	}
}

// TestAdoptionEnds: a rule that changes hands, in both directions, leaves nothing of its former owner.
func TestAdoptionEnds(t *testing.T) {
	t.Parallel()
	u, p := newAdopting(t), part("m")
	pod := unitPod("a", "1", "x")
	u.areAll(p)
	u.list(t, pod)
	u.plan()
	u.admit(found(p, pod, 1, "m", "fail"))
	u.plan()
	u.drain(t)
	u.retryAdmitted()
	u.want(t, "shared", "p a pass fail")
	mutates := partPolicy{unitPolicy: p.unitPolicy, coverage: policy.Coverage{Rules: map[string]bool{"r0": false, "m": false}}}
	mutates.fingerprint = "2"
	mutates.targets = []policy.Target{}
	u.areAll(mutates)
	u.plan()
	u.drain(t)
	u.admit(found(p, pod, 2, "r0", "error"))
	u.plan()
	u.retryAdmitted()
	u.drain(t)
	u.want(t, "nothing evaluated", "p a fail error")
	validates := part()
	validates.fingerprint = "3"
	u.areAll(validates)
	u.plan()
	u.drain(t)
	u.want(t, "nothing adopted", "p a pass")
	unwanted := part("m")
	unwanted.fingerprint = "4"
	u.areAll(unreported{unwanted})
	u.want(t, "not reported")
}

type unreported struct{ partPolicy }

func (unreported) Reported() bool { return false }
