// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// evaluator decides what the results are: it knows the policies, evaluates them for the resources of the queue,
// and takes results of admission requests and of Kyverno's own controllers.
type evaluator struct {
	config    *Config
	inventory *inventory
	// planning wakes the planner when results come for kinds that are not watched yet.
	planning *broadcast.Trigger
	excluded policy.Exclusion
	// tracer makes a span of each resource that is evaluated.
	tracer trace.Tracer
	slow   slowLanes
	// waiting are the results of admission requests whose subject does not exist yet.
	waiting waiting
	// snapshot is where policies comes from; nil until the policies are known.
	snapshot atomic.Pointer[policies.Snapshot]
	// left are the kinds of subjects that had results at the start. It belongs to the planner.
	left map[policy.Identity][]schema.GroupVersionKind

	// mu guards the maps. The planner alone changes them, and reads them without the mutex.
	mu       sync.RWMutex
	policies map[policy.Identity]*policyState
	// adopting has the policies of which results are adopted: the other half of policies.
	adopting map[policy.Identity]*policyState
}

func newEvaluator(config *Config, inventory *inventory, planning *broadcast.Trigger) *evaluator {
	return &evaluator{
		config: config, inventory: inventory, planning: planning, excluded: policy.NewExclusion(config.Exclude...),
		tracer: otel.Tracer("docket-controller/scan"), slow: slowLanes{slots: make(chan struct{}, maxSlowEvaluations)},
		policies: map[policy.Identity]*policyState{}, adopting: map[policy.Identity]*policyState{},
	}
}

// tend does what is due from time to time. The planner calls it.
func (e *evaluator) tend(ctx context.Context) {
	e.sendViolations()
	e.retryAdmitted()
	e.tendSlow(ctx)
}

// applySnapshot takes the policies of a snapshot, and reports whether the policies of any kind have
// changed. Deleted policies come last, so that after a renaming the new policy may have
// results before those of the old one are removed.
func (e *evaluator) applySnapshot(snapshot *policies.Snapshot, news *policyNews) (changed bool) {
	if snapshot == e.snapshot.Load() {
		return false
	}
	exist := make(map[policy.Identity]bool, len(snapshot.Items))
	for _, item := range snapshot.Items {
		exist[item.Policy.Identity()] = true
		changed = e.applyPolicy(item, news) || changed
	}
	for id, gone := range e.policies {
		if !exist[id] {
			news.gone++
			changed = e.stopAdopting(id) || changed
			changed = gone.removeResults() || changed
			e.remove(e.policies, id)
		}
	}
	e.snapshot.Store(snapshot)
	return changed
}

func (e *evaluator) applyPolicy(item *policies.Item, news *policyNews) (changed bool) {
	id := item.Policy.Identity()
	state := e.policies[id]
	if state != nil && state.item == item {
		return false
	}
	if state == nil {
		state = e.add(e.policies, id)
		news.added++
	} else {
		news.changed++
	}
	state.item = item
	here, others := e.share(item.Policy)
	// In this order, so that neither half removes what the other one has set.
	if !here {
		changed = state.removeResults()
	}
	if others.Empty() {
		changed = e.stopAdopting(id) || changed
	}
	if here {
		changed = e.updatePolicy(state, others) || changed
	}
	if !others.Empty() {
		changed = e.adopt(item, others) || changed
	}
	return changed
}

func (e *evaluator) updatePolicy(state *policyState, others policy.Rules) (changed bool) {
	item := state.item
	changed = state.update(item.Policy, others)
	if problem := item.Policy.Problem(); changed && problem != nil {
		e.event(state, reasonNotEvaluated, "The policy can't be evaluated; its results are errors: %v", problem)
	}
	if doubt := item.Policy.Doubt(); changed && doubt != nil {
		e.event(state, reasonDoubt, "Parts of the policy may not be evaluated: %v", doubt)
	}
	return changed
}

// add adds a policy to one of the maps.
func (e *evaluator) add(to map[policy.Identity]*policyState, id policy.Identity) *policyState {
	state := newPolicyState(id, e.config)
	e.mu.Lock()
	defer e.mu.Unlock()
	to[id] = state
	return state
}

func (e *evaluator) remove(from map[policy.Identity]*policyState, id policy.Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(from, id)
}

// halves returns the two states that a policy may have: what is evaluated here of it, and what is adopted. Either
// is nil if there is none. Any goroutine may call it, as count.
func (e *evaluator) halves(id policy.Identity) (here, adopting *policyState) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.policies[id], e.adopting[id]
}

// count returns the number of policies.
func (e *evaluator) count() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(e.policies)
}

// wantedKind is a kind as policies require it.
type wantedKind struct {
	resource   served.Resource
	policies   []*compiled
	withStatus bool
}

// wantedKinds returns the kinds that policies match, and namespaces if there are any such kinds.
func (e *evaluator) wantedKinds(catalog *served.Catalog) map[schema.GroupVersionResource]*wantedKind {
	var current []*compiled
	var status []policy.Target
	for _, state := range e.states() {
		c := state.current
		if c == nil {
			continue
		}
		if c.catalog != catalog {
			c.catalog, c.kinds = catalog, catalog.Matching(c.targets, e.excluded, watchable)
		}
		current = append(current, c)
		for _, target := range c.targets {
			if target.Subresource == "status" {
				target.Subresource = ""
				status = append(status, target)
			}
		}
	}
	wanted := map[schema.GroupVersionResource]*wantedKind{}
	for _, a := range served.Assign(current, func(c *compiled) []served.Resource { return c.kinds }) {
		withStatus := slices.ContainsFunc(status, func(t policy.Target) bool { return t.Matches(a.Resource.GVK(), a.Resource.Resource) })
		wanted[a.Resource.GroupVersionResource] = &wantedKind{resource: a.Resource, policies: a.Policies, withStatus: withStatus}
	}
	if r, ok := catalog.Lookup(namespacesResource, "Namespace"); ok && len(wanted) > 0 && wanted[r.GroupVersionResource] == nil {
		wanted[r.GroupVersionResource] = &wantedKind{resource: r}
	}
	return wanted
}

func watchable(r served.Resource) bool { return r.Watchable }

// states returns the states of all policies, by name, those with results that are adopted last.
func (e *evaluator) states() []*policyState {
	return append(sorted(e.policies), sorted(e.adopting)...)
}

// sorted returns the states by name.
func sorted(half map[policy.Identity]*policyState) []*policyState {
	return slices.SortedFunc(maps.Values(half), func(a, b *policyState) int { return strings.Compare(a.id.String(), b.id.String()) })
}
