// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// plainPolicy passes everything.
type plainPolicy struct{ id policy.Identity }

func (p plainPolicy) Identity() policy.Identity         { return p.id }
func (p plainPolicy) Presentation() policy.Presentation { return policy.Presentation{Source: "unit"} }
func (p plainPolicy) Fingerprint() string               { return p.id.Name }
func (p plainPolicy) Background() bool                  { return true }
func (p plainPolicy) Targets() []policy.Target {
	return []policy.Target{{Version: "v1", Kind: "Pod"}}
}
func (p plainPolicy) Admission() policy.Admission { return policy.Admission{} }
func (p plainPolicy) Entries() []policy.Entry     { return nil }
func (plainPolicy) ReadsNamespace() bool          { return false }
func (plainPolicy) ReadsStatus() bool             { return false }
func (plainPolicy) Doubt() error                  { return nil }
func (plainPolicy) LeftOut() []string             { return nil }
func (plainPolicy) Reported() bool                { return true }
func (p plainPolicy) Problem() error              { return nil }
func (p plainPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	return nil, nil
}
func (p plainPolicy) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return []policy.Result{{Rule: "rule", Outcome: report.OutcomePass}}, nil
}

// unitPolicy gives preset results.
type unitPolicy struct {
	plainPolicy

	fingerprint string
	admission   bool
	readsStatus bool
	entries     []policy.Entry
	targets     []policy.Target
}

func (p unitPolicy) Fingerprint() string         { return p.fingerprint }
func (p unitPolicy) Background() bool            { return !p.admission }
func (p unitPolicy) Admission() policy.Admission { return policy.Admission{Enabled: p.admission} }
func (p unitPolicy) Entries() []policy.Entry     { return p.entries }
func (p unitPolicy) ReadsStatus() bool           { return p.readsStatus }
func (p unitPolicy) Targets() []policy.Target {
	if p.targets != nil {
		return p.targets
	}
	return p.plainPolicy.Targets()
}

// noKinds is a compiler and a list of kinds that nobody asks.
type noKinds struct {
	policy.Compiler
	served.Lister
}

// unitResults has results as "policy subject outcome …".
type unitResults struct {
	mu      sync.Mutex
	current map[policy.Identity]map[policy.Reference][]policy.Result
}

func (r *unitResults) Present(policy.Identity, policy.Presentation)                            {}
func (r *unitResults) PruneUnseen(func(policy.Identity, policy.Reference, string) (keep bool)) {}

func (r *unitResults) Kinds() map[policy.Identity][]schema.GroupVersionKind { return nil }

func (r *unitResults) SetRules(id policy.Identity, subject policy.Reference, results []policy.Result, of func(string) bool) {
	r.mu.Lock()
	rest := slices.DeleteFunc(slices.Clone(r.current[id][subject]), func(r policy.Result) bool { return of(r.Rule) })
	r.mu.Unlock()
	r.Set(id, subject, append(rest, results...))
}

func (r *unitResults) Adopt(id policy.Identity, subject policy.Reference, results []policy.Result, of func(string) bool, _ time.Time) {
	r.SetRules(id, subject, results, of)
}

func (r *unitResults) RemoveRules(id policy.Identity, of func(string) bool) {
	for subject := range maps.Clone(r.current[id]) {
		r.SetRules(id, subject, nil, of)
	}
}

func (r *unitResults) Set(id policy.Identity, subject policy.Reference, results []policy.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current[id] == nil {
		r.current[id] = map[policy.Reference][]policy.Result{}
	}
	r.current[id][subject] = results
	if len(results) == 0 {
		delete(r.current[id], subject)
	}
}

func (r *unitResults) RemovePolicy(id policy.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.current, id)
}

func (r *unitResults) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{}
	for id, subjects := range r.current {
		for subject, results := range subjects {
			line := id.Name + " " + subject.Name
			for _, result := range results {
				line += " " + string(result.Outcome)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// unit is a scanner without an API, which does what a test says.
type unit struct {
	*inventory
	*planner
	*evaluator

	config *Config

	clock   *clocktesting.FakeClock
	results *unitResults
	pods    *kind
}

var unitPods = served.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}

func newUnit(t *testing.T) *unit {
	t.Helper()
	now := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	u := newUnitAt(t, now)
	u.clock = now
	return u
}

// newUnitAt returns one with another clock.
func newUnitAt(t *testing.T, now clock.WithTickerAndDelayedExecution) *unit {
	t.Helper()
	u := &unit{
		results: &unitResults{current: map[policy.Identity]map[policy.Reference][]policy.Result{}},
	}
	watcher, client := served.NewWatcher(served.Config{Discovery: noKinds{}}), dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	set, err := policies.New(policies.Config{Client: client, Served: watcher, Compiler: noKinds{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Client: client, Served: watcher, Policies: set, Results: u.results, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	u.config, u.inventory, u.planner, u.evaluator = s.config, s.inventory, s.planner, s.evaluator
	u.first.done = true
	u.pods = u.kindOf(unitPods)
	u.pods.source = source.New(source.Config{Clock: now, Changed: func(error) {}})
	return u
}

// are has these policies be all that there are.
func (u *unit) are(list ...unitPolicy) {
	all := make([]policy.Policy, 0, len(list))
	for _, p := range list {
		all = append(all, p)
	}
	u.areAll(all...)
}

func (u *unit) areAll(list ...policy.Policy) {
	snapshot := &policies.Snapshot{}
	for _, p := range list {
		snapshot.Items = append(snapshot.Items, &policies.Item{Policy: p, Object: &unstructured.Unstructured{Object: map[string]any{}}})
	}
	u.applySnapshot(snapshot, &u.news)
	u.assignPods()
}

// assignPods gives the policies to the kind, as the planner does.
func (u *unit) assignPods() {
	var current []*compiled
	for _, state := range sorted(u.policies) {
		c := state.current
		if c != nil && slices.ContainsFunc(c.targets, func(t policy.Target) bool { return t.Matches(unitPods.GVK(), unitPods.Resource) }) {
			current = append(current, c)
		}
	}
	u.pods.setPolicies(current, false)
}

// work has everything done that waits, and returns how many resources that was.
func (u *unit) drain(t *testing.T) (count int) {
	t.Helper()
	for !u.queue.idle() {
		rs, ok := u.queue.get()
		if !ok {
			t.Fatal("closed")
		}
		ctx := context.WithoutCancel(t.Context())
		if v := u.visit(ctx, rs); !u.proceed(ctx, v) || v.err != nil {
			t.Fatal(v.err)
		}
		u.queue.done(rs)
		count++
	}
	return count
}

func unitPod(name, uid, label string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{}}}
	o.SetNamespace("n")
	o.SetName(name)
	o.SetUID(types.UID(uid))
	o.SetLabels(map[string]string{"a": label})
	return o
}

func (u *unit) list(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	list := make([]any, 0, len(objects))
	for _, o := range objects {
		list = append(list, o.DeepCopy())
	}
	testkit.NoError(t, u.pods.Replace(list, ""))
}

func (u *unit) update(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	testkit.NoError(t, u.pods.Update(o.DeepCopy()))
}

func unitNamed(name string, admission bool) unitPolicy {
	return unitPolicy{plainPolicy: plainPolicy{policy.Identity{Kind: policy.ClusterPolicy, Name: name}}, fingerprint: "1", admission: admission}
}

// admitted is what a policy has said about a pod, second seconds after the start.
func admitted(t *testing.T, p unitPolicy, o *unstructured.Unstructured, second int, outcomes ...report.Outcome) policy.Admitted {
	t.Helper()
	content := testkit.Must(policy.ContentOf(o))(t)
	a := policy.Admitted{
		Policy: p.Identity(), Fingerprint: p.fingerprint, Resource: unitPods.GroupVersionResource,
		Subject: policy.ReferenceTo(o), Content: content, Time: time.Unix(int64(1_000_000+second), 0),
	}
	for i, outcome := range outcomes {
		a.Results = append(a.Results, policy.Result{Rule: fmt.Sprint("r", i), Outcome: outcome})
	}
	return a
}
