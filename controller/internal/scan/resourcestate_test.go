// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// example is the pod in the comment on resourceState.
type example struct {
	pods *kind
	// revisions names the revisions, such as A1.
	revisions map[*policyRevision]string
	versions  map[string]int
}

func (x *example) policy(name string) *policyState {
	state := &policyState{
		id:      policy.Identity{Kind: policy.ClusterPolicy, Name: name},
		results: &unitResults{current: map[policy.Identity]map[policy.Reference][]policy.Result{}}, lane: newSlowLane(clock.RealClock{}),
	}
	state.update(unitNamed(name, false), policy.Rules{})
	return state
}

// match has policies match pods from now on.
func (x *example) match(states ...*policyState) {
	current := make([]*compiled, 0, len(states))
	for _, state := range states {
		c := state.currentVersion()
		if x.revisions[c.revision] == "" {
			x.versions[state.id.Name]++
			x.revisions[c.revision] = fmt.Sprint(state.id.Name, x.versions[state.id.Name])
		}
		current = append(current, c)
	}
	x.pods.setPolicies(current, false)
}

func (x *example) update(t *testing.T, label string) {
	t.Helper()
	testkit.NoError(t, x.pods.Update(unitPod("p", "1", label)))
}

// row is a line of the table.
func (x *example) row() string {
	rs := x.pods.objects["n"]["p"]
	if rs == nil {
		return "forgotten"
	}
	copied := *rs // begin makes it fresh.
	todo := x.pods.begin(&copied)
	var due, dropped []string
	for _, c := range todo.due {
		due = append(due, x.revisions[c.revision])
	}
	for _, owner := range todo.dropped {
		dropped = append(dropped, owner.id.Name)
	}
	return fmt.Sprintf("%s done=%s stale=%d deleted=%t due=%s dropped=%s", x.set(x.pods.revisions), x.set(rs.done), rs.stale, rs.deleted,
		strings.Join(due, " "), strings.Join(dropped, " "))
}

func (x *example) set(s *revisionSet) string {
	if s == nil {
		return "nil"
	}
	names := make([]string, 0, len(s.revisions))
	for _, r := range s.revisions {
		names = append(names, x.revisions[r])
	}
	return "{" + strings.Join(names, " ") + "}"
}

// work has a worker do what the queue hands out, once for each of meanwhile, which is called while it does.
func (x *example) work(t *testing.T, meanwhile ...func()) {
	t.Helper()
	for _, call := range append(meanwhile, func() {}) {
		rs, ok := x.pods.queue.poll()
		if !ok {
			t.Fatal("the pod is not queued")
		}
		todo := x.pods.begin(rs)
		call()
		x.pods.finish(rs, todo)
		x.pods.queue.done(rs)
	}
	if !x.pods.queue.idle() {
		t.Error("the pod is still queued")
	}
}

// TestResourceStateExample goes through the table in the comment on resourceState.
func TestResourceStateExample(t *testing.T) {
	t.Parallel()
	x := &example{pods: newKind(unitPods, newQueue(clock.RealClock{}), shard.Set{}), revisions: map[*policyRevision]string{}, versions: map[string]int{}}
	a, b, c := x.policy("A"), x.policy("B"), x.policy("C")
	x.match(a, b)
	var during string
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"listed", func() { x.update(t, "x") }, "{A1 B1} done=nil stale=0 deleted=false due=A1 B1 dropped="},
		{"finished", func() { x.work(t) }, "{A1 B1} done={A1 B1} stale=0 deleted=false due= dropped="},
		{"changed", func() { x.update(t, "y") }, "{A1 B1} done={A1 B1} stale=2 deleted=false due=A1 B1 dropped="},
		{"changed while a worker has it", func() {
			x.work(t, func() { during = x.row(); x.update(t, "z"); during += "\n" + x.row() })
		}, "{A1 B1} done={A1 B1} stale=0 deleted=false due= dropped="},
		{"B changed", func() { b.invalidate(); x.match(a, b) }, "{A1 B2} done={A1 B1} stale=0 deleted=false due=B2 dropped="},
		{"finished", func() { x.work(t) }, "{A1 B2} done={A1 B2} stale=0 deleted=false due= dropped="},
		{"B deleted", func() { b.removeResults(); x.match(a) }, "{A1} done={A1 B2} stale=0 deleted=false due= dropped="},
		{"C instead of A", func() { x.match(c) }, "{C1} done={A1 B2} stale=0 deleted=false due=C1 dropped=A"},
		{"finished", func() { x.work(t) }, "{C1} done={C1} stale=0 deleted=false due= dropped="},
		{"deleted", func() {
			testkit.NoError(t, x.pods.Delete(unitPod("p", "1", "z")))
		}, "{C1} done={C1} stale=0 deleted=true due= dropped=C"},
		{"finished", func() { x.work(t) }, "forgotten"},
	} {
		step.do()
		testkit.NoDiff(t, cmp.Diff(step.want, x.row()), "%s (-want +got)", step.what)
	}
	want := "{A1 B1} done={A1 B1} stale=0 deleted=false due= dropped=\n{A1 B1} done={A1 B1} stale=2 deleted=false due=A1 B1 dropped="
	testkit.NoDiff(t, cmp.Diff(want, during), "while a worker had it (-want +got)")
}
