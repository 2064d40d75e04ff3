// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// timedPolicy takes its time for each evaluation, or all of that which it is given.
type timedPolicy struct {
	unitPolicy

	takes *atomic.Int64
	calls *atomic.Int64
}

func newTimed(name string, takes time.Duration) timedPolicy {
	p := timedPolicy{unitPolicy: unitNamed(name, false), takes: &atomic.Int64{}, calls: &atomic.Int64{}}
	p.takes.Store(int64(takes))
	return p
}

func (p timedPolicy) Evaluate(ctx context.Context, _ policy.Subject) ([]policy.Result, error) {
	p.calls.Add(1)
	timer := time.NewTimer(time.Duration(p.takes.Load()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return []policy.Result{{Rule: "r", Outcome: report.OutcomePass}}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("call a service: %w", ctx.Err())
	}
}

// outcomes counts the results of policies whose names begin so.
func (r *unitResults) outcomes(prefix string) map[report.Outcome]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[report.Outcome]int{}
	for id, subjects := range r.current {
		if strings.HasPrefix(id.Name, prefix) {
			for _, results := range subjects {
				counts[results[0].Outcome]++
			}
		}
	}
	return counts
}

// about counts the policies whose names begin so that have results for a subject.
func (r *unitResults) about(prefix string, subject policy.Reference) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, subjects := range r.current {
		if strings.HasPrefix(id.Name, prefix) && len(subjects[subject]) > 0 {
			count++
		}
	}
	return count
}

// message returns the message of a result.
func (r *unitResults) message(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, results := range r.current[policy.Identity{Kind: policy.ClusterPolicy, Name: name}] {
		return results[0].Message
	}
	return ""
}

// bubble is a scanner in a bubble of package synctest, whose time passes only while all wait.
type bubble struct {
	*unit

	events *record.FakeRecorder
}

// inBubble runs do with a scanner at work.
func inBubble(t *testing.T, do func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{unit: newUnitAt(t, clock.RealClock{}), events: record.NewFakeRecorder(100)}
		b.config.Recorder, b.config.Workers = b.events, 2
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		for range b.config.Workers {
			parts.Go(func() { b.work(ctx, nil) })
		}
		do(t, b)
		cancel()
		b.queue.close()
		parts.Wait()
		b.slow.Wait()
	})
}

// await waits in steps for what is asked, and returns how long that took.
func (b *bubble) await(t *testing.T, limit time.Duration, what string, ask func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !ask() {
		if time.Since(begin) > limit {
			t.Fatalf("within %v it does not come about that %s", limit, what)
		}
		<-time.After(100 * time.Millisecond)
		b.tendSlow(t.Context())
	}
	return time.Since(begin)
}

func manyPods(count int) []*unstructured.Unstructured {
	list := make([]*unstructured.Unstructured, 0, count)
	for i := range count {
		list = append(list, unitPod(fmt.Sprint("p", i), fmt.Sprint("u", i), "1"))
	}
	return list
}

// TestSlowPolicyStarvesNobody: beside one policy that waits 30 s a call, 16 others are through with 10,000 resources
// within twice the time that they need alone, and see a new resource at once, also during the next scan.
func TestSlowPolicyStarvesNobody(t *testing.T) {
	t.Parallel()
	const count, others = 10_000, 16
	complete := func(slow ...policy.Policy) (took time.Duration) {
		inBubble(t, func(t *testing.T, b *bubble) {
			all := slices.Clone(slow)
			for i := range others {
				all = append(all, newTimed(fmt.Sprintf("other-%02d", i), time.Millisecond))
			}
			b.areAll(all...)
			b.list(t, manyPods(count)...)
			took = b.await(t, time.Hour, "the others are through", b.queue.idle)
			if got := b.results.outcomes("other-")[report.OutcomePass]; got != others*count {
				t.Errorf("%d results", got)
			}
			for bucket := range uint8(buckets) {
				b.pods.rescan(bucket)
			}
			b.update(t, unitPod("new", "new", "1"))
			newest := b.await(t, time.Hour, "the others have seen a new resource", func() bool {
				return b.results.about("other-", b.pods.reference(b.pods.objects["n"]["new"].packed)) == others
			})
			if newest > time.Second {
				t.Errorf("a new resource waits for %v", newest)
			}
			b.await(t, time.Hour, "all is done", func() bool { return b.queue.idle() && b.slowLanesIdle() })
		})
		return took
	}
	alone := complete()
	slow := newTimed("a-slow", time.Minute) // The limit is 30 s.
	beside := complete(slow)
	t.Logf("alone %v, beside a slow policy %v, which was called %d times", alone, beside, slow.calls.Load())
	if beside > 2*alone {
		t.Errorf("beside a slow policy it takes %v instead of %v", beside, alone)
	}
}

// crowd counts the evaluations of some policies that go on at a time.
type crowd struct{ now, most atomic.Int64 }

type crowdPolicy struct {
	timedPolicy

	crowd *crowd
}

func (p crowdPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	now := p.crowd.now.Add(1)
	defer p.crowd.now.Add(-1)
	for most := p.crowd.most.Load(); now > most && !p.crowd.most.CompareAndSwap(most, now); most = p.crowd.most.Load() {
	}
	return p.timedPolicy.Evaluate(ctx, subject)
}

// TestManySlowPolicies: however many policies are slow at once, a bounded number of evaluations goes on at a time, the
// others have what they need, and in the end each slow policy was evaluated for all resources.
func TestManySlowPolicies(t *testing.T) {
	t.Parallel()
	const slow, others, count, takes = 200, 4, 20, time.Second
	inBubble(t, func(t *testing.T, b *bubble) {
		var all []policy.Policy
		crowded := &crowd{}
		for i := range slow {
			all = append(all, crowdPolicy{newTimed(fmt.Sprintf("slow-%03d", i), takes), crowded})
		}
		for i := range others {
			all = append(all, newTimed(fmt.Sprintf("other-%d", i), time.Millisecond))
		}
		b.areAll(all...)
		b.list(t, manyPods(count)...)
		b.await(t, slow*2*defaultPatience, "the others are through", func() bool { return b.results.outcomes("other-")[report.OutcomePass] == others*count })
		policies, waiting := 0, 0
		for _, state := range b.policies {
			state, resources := state.lane.load()
			waiting += resources
			if state == stateSlow {
				policies++
			}
		}
		if policies != slow || waiting < slow*count/2 || waiting > slow*count {
			t.Errorf("%d policies are slow, %d of their evaluations are still to come", policies, waiting)
		}
		b.await(t, time.Hour, "all is done", func() bool { return b.queue.idle() && b.slowLanesIdle() })
		if got := b.results.outcomes("slow-")[report.OutcomePass]; got != slow*count {
			t.Errorf("%d results of slow policies", got)
		}
		// In addition to the slots there is what workers have left when they found a policy slow.
		if most, bound := crowded.most.Load(), int64(maxSlowEvaluations+b.config.Workers*int(takes/defaultPatience+1)); most > bound {
			t.Errorf("%d evaluations went on at a time, more than %d", most, bound)
		}
	})
}

// TestSlowPolicyIsLeftAlone after three evaluations that reach the limit, with results and an Event that say so, and
// all is evaluated when it is well again.
func TestSlowPolicyIsLeftAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		slow := newTimed("slow", time.Hour)
		b.areAll(slow)
		b.list(t, manyPods(100)...)
		b.await(t, 3*defaultLimit, "all have a result", func() bool { return b.results.outcomes("slow")[report.OutcomeError] == 100 && b.slowLanesIdle() })
		if calls := slow.calls.Load(); calls > maxStrikes+2*slowRunners+2 {
			t.Errorf("it was called %d times", calls)
		}
		if text := b.results.message("slow"); !strings.Contains(text, "longer than 30s") && !strings.Contains(text, "deadline") {
			t.Errorf("the result says %q", text)
		}
		b.tendSlow(t.Context())
		for _, state := range b.policies {
			if state, resources := state.lane.load(); state != stateResting || resources != 0 {
				t.Errorf("it is %q, with %d resources to come", state, resources)
			}
		}
		if event := <-b.events.Events; !strings.Contains(event, reasonTooSlow) || !strings.Contains(event, "retried at") {
			t.Errorf("the Event is %q", event)
		}
		before := slow.calls.Load()
		b.await(t, time.Hour, "it is retried, for one resource", func() bool { return slow.calls.Load() > before })
		slow.takes.Store(int64(time.Second))
		b.await(t, 10*time.Hour, "all are evaluated", func() bool { return b.results.outcomes("slow")[report.OutcomePass] == 100 })
	})
}

// TestSlowPolicyBecomesQuick: a policy that was slow once does not stay slow because resources wait for it; those are
// still evaluated in the slow lane.
func TestSlowPolicyBecomesQuick(t *testing.T) {
	t.Parallel()
	const patience = time.Second
	p := newSlowLane(clock.RealClock{})
	p.done(p.leave(&resourceState{}))
	waiting := make([]*resourceState, 2*quickMeanwhile)
	for i := range waiting {
		waiting[i] = &resourceState{}
		p.put(waiting[i], false)
	}
	evaluate := func(n int, length time.Duration) {
		for range n {
			standIn, ok := p.next()
			if !ok {
				t.Fatal("nothing waits")
			}
			p.took(standIn.standsFor, length, patience, false)
			p.done(standIn)
		}
	}
	evaluate(quickMeanwhile-1, 0)
	evaluate(1, 2*patience)
	evaluate(quickAgain, 0)
	if !p.slow {
		t.Error("it is quick although one evaluation was not")
	}
	evaluate(1, 0)
	if p.slow {
		t.Error("it is still slow")
	}
	if last := waiting[len(waiting)-1]; !p.takes(last) || p.takes(waiting[0]) || p.takes(&resourceState{}) {
		t.Error("the slow lane is not for the resources that wait alone")
	}
}

// TestSlowPolicyOfChangesAndDeletions: the slow lane follows the resource and the policy, and nothing comes
// after they are gone.
func TestSlowPolicyOfChangesAndDeletions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		slow := newTimed("slow", 2*time.Second)
		b.areAll(slow)
		b.list(t, manyPods(3)...)
		b.await(t, time.Minute, "all are evaluated", func() bool { return b.results.outcomes("slow")[report.OutcomePass] == 3 && b.slowLanesIdle() })
		b.update(t, unitPod("p0", "u0", "2"))
		b.await(t, time.Minute, "a change is evaluated", func() bool { return slow.calls.Load() == 4 })
		b.update(t, unitPod("p0", "u0", "3"))
		b.update(t, unitPod("p0", "u0", "4"))
		b.await(t, time.Minute, "later ones are, once", func() bool { return b.slowLanesIdle() && b.queue.idle() })
		if calls := slow.calls.Load(); calls != 5 {
			t.Errorf("%d calls", calls)
		}
		b.update(t, unitPod("p1", "u1", "2"))
		b.await(t, time.Minute, "a change is evaluated", func() bool { return slow.calls.Load() == 6 })
		if err := b.pods.Delete(unitPod("p1", "u1", "2")); err != nil {
			t.Fatal(err)
		}
		b.await(t, time.Minute, "all is done", func() bool { return b.slowLanesIdle() && b.queue.idle() })
		if got := b.results.lines(); len(got) != 2 {
			t.Errorf("after the deletion there are %v", got)
		}
		b.update(t, unitPod("p2", "u2", "2"))
		b.await(t, time.Minute, "a change is evaluated", func() bool { return slow.calls.Load() == 7 })
		b.areAll()
		b.await(t, time.Minute, "all is done", func() bool { return b.slowLanesIdle() && b.queue.idle() })
		if got := b.results.lines(); len(got) != 0 {
			t.Errorf("without the policy there are %v", got)
		}
		// Hundred quick ones in a row, and it is one of the others again.
		slow.takes.Store(0)
		b.areAll(slow)
		b.list(t, manyPods(2*quickAgain)...)
		b.await(t, time.Hour, "all is done", func() bool {
			return b.results.outcomes("slow")[report.OutcomePass] == 2*quickAgain && b.slowLanesIdle()
		})
		for _, state := range b.policies {
			if name, _ := state.lane.load(); name != "" {
				t.Error("it is still slow")
			}
		}
	})
}
