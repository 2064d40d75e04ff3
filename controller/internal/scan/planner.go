// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// plan watches and queues what policies and kinds require, and prunes stored results once everything has
// been evaluated. One goroutine calls it whenever anything has changed; it is cheap when nothing has.
func (s *Scanner) plan(ctx context.Context) {
	fired := s.planning.Fired()
	defer s.planning.Handled(fired)
	s.undecided = true
	s.onIdle.Store(true) // Before the queue is checked, so that its becoming idle is not missed.
	catalog := s.config.Served.Current()
	if catalog == nil {
		return // What the API serves is not known yet.
	}
	// In this order: if the set was idle, the snapshot has everything that it had seen.
	complete := s.config.Policies.Idle()
	snapshot := s.config.Policies.Current()
	if snapshot == nil {
		if err := s.config.Policies.Ready(); err != nil {
			s.waitFor("policies: %w", err)
		}
		return
	}
	changed := s.applySnapshot(snapshot)
	changed = s.renew() || changed
	changed = s.renewAdopting() || changed
	if namespaces := s.namespacesListed(catalog); changed || s.dataMissing || catalog != s.assigned || namespaces != s.namespacesWere {
		s.assigned, s.namespacesWere = catalog, namespaces
		s.assign(ctx, catalog, namespaces)
	}
	s.reportRefused(ctx)
	s.forgetKinds()
	if !complete {
		s.waitFor("the policies")
		return
	}
	s.pruneUnseen(ctx, catalog, snapshot, fired)
	s.onIdle.Store(!s.firstScanDone || s.notListed != "" || s.clearing())
}

// applySnapshot takes the policies of a snapshot, and reports whether the policies of any kind have
// changed. Deleted policies come last, so that after a renaming the new policy may have
// results before those of the old one are removed.
func (s *Scanner) applySnapshot(snapshot *policies.Snapshot) (changed bool) {
	if snapshot == s.snapshot {
		return false
	}
	s.snapshot = snapshot
	exist := make(map[policy.Identity]bool, len(snapshot.Items))
	for _, item := range snapshot.Items {
		exist[item.Policy.Identity()] = true
		changed = s.applyPolicy(item) || changed
	}
	for id, gone := range s.policies {
		if !exist[id] {
			s.policyChanges.gone++
			changed = s.stopAdopting(id) || changed
			changed = gone.removeResults() || changed
			s.removePolicy(id)
		}
	}
	s.policiesKnown.Store(true)
	return changed
}

func (s *Scanner) applyPolicy(item *policies.Item) (changed bool) {
	id := item.Policy.Identity()
	state := s.policies[id]
	if state != nil && state.item == item {
		return false
	}
	if state == nil {
		state = &policyState{id: id, results: s.config.Results, slowness: newSlowness(s.config.Clock)}
		s.addPolicy(state)
		s.policyChanges.added++
	} else {
		s.policyChanges.changed++
	}
	state.item = item
	here, others := s.share(item.Policy)
	// In this order, so that neither half removes what the other one has set.
	if !here {
		changed = state.removeResults()
	}
	if others.Empty() {
		changed = s.stopAdopting(id) || changed
	}
	if here {
		changed = s.updatePolicy(state, others) || changed
	}
	if !others.Empty() {
		changed = s.adopt(item, others) || changed
	}
	return changed
}

func (s *Scanner) updatePolicy(state *policyState, others policy.Rules) (changed bool) {
	item := state.item
	changed = state.update(item.Policy, others)
	if problem := item.Policy.Problem(); changed && problem != nil {
		s.event(state, reasonNotEvaluated, "The policy can't be evaluated; its results are errors: %v", problem)
	}
	if doubt := item.Policy.Doubt(); changed && doubt != nil {
		s.event(state, reasonDoubt, "Parts of the policy may not be evaluated: %v", doubt)
	}
	return changed
}

// addPolicy and removePolicy are for the planner, which alone changes policies, and reads them without
// the mutex.
func (s *Scanner) addPolicy(state *policyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[state.id] = state
}

func (s *Scanner) removePolicy(id policy.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.policies, id)
}

// policyState returns the state of a policy; nil if there is none. Any goroutine may call it.
func (s *Scanner) policyState(id policy.Identity) *policyState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.policies[id]
}

// wantedKind is a kind as policies require it.
type wantedKind struct {
	resource   served.Resource
	policies   []*compiled
	withStatus bool
}

// assign gives each kind its policies, and watches the kinds that have any.
func (s *Scanner) assign(ctx context.Context, catalog *served.Catalog, namespacesListed bool) {
	wanted := s.wantedKinds(catalog)
	s.dataMissing = false
	for gvr, k := range s.allKinds() {
		if w, ok := wanted[gvr]; ok && w.resource == k.resource {
			continue
		}
		switch {
		case k.source != nil:
			k.source.Stop()
			k.source = nil
			k.clear()
		case k.hasPolicies():
			k.clear() // It was waiting for the list of namespaces, and was never watched.
		}
	}
	for gvr, w := range wanted {
		k := s.kindOf(gvr, w.resource)
		if k.resource != w.resource {
			continue // Results of what the kind was before have to be removed; then plan is called again.
		}
		if k.source != nil && k.needsData(w) {
			k.source.Stop()
			k.source = nil
		}
		k.setPolicies(k.possible(w.policies), w.withStatus)
		s.dataMissing = s.dataMissing || k.isDataMissing()
		if k.source == nil && (!w.resource.Namespaced || namespacesListed) {
			k.setDetail(w.detail())
			k.source = s.newSource(k.resource)
			k.source.Start(ctx, k)
		}
	}
}

// wantedKinds returns the kinds that policies match, and namespaces if there are any such kinds.
func (s *Scanner) wantedKinds(catalog *served.Catalog) map[schema.GroupVersionResource]*wantedKind {
	var current []*compiled
	var status []policy.Target
	for _, state := range s.states() {
		c := state.current
		if c == nil {
			continue
		}
		if c.catalog != catalog {
			c.catalog, c.kinds = catalog, catalog.Matching(c.targets, s.excluded, watchable)
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

// states returns the states of all policies, by name, those with results that are adopted last.
func (s *Scanner) states() []*policyState {
	states := make([]*policyState, 0, len(s.policies)+len(s.adopting))
	for _, half := range []map[policy.Identity]*policyState{s.policies, s.adopting} {
		for _, id := range slices.SortedFunc(maps.Keys(half), compareIdentities) {
			states = append(states, half[id])
		}
	}
	return states
}

func compareIdentities(a, b policy.Identity) int { return strings.Compare(a.String(), b.String()) }

func watchable(r served.Resource) bool { return r.Watchable }

// namespacesListed reports whether the labels of all namespaces are known, or the API has no namespaces.
func (s *Scanner) namespacesListed(catalog *served.Catalog) bool {
	r, ok := catalog.Lookup(namespacesResource, "Namespace")
	if !ok {
		return true
	}
	k := s.allKinds()[r.GroupVersionResource]
	if k == nil || k.source == nil {
		return false
	}
	listed, _ := k.source.State()
	return listed
}

func (s *Scanner) allKinds() map[schema.GroupVersionResource]*kind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.kinds)
}

// kindOf returns the kind of a resource. It may still be for another kind or scope of the same name.
func (s *Scanner) kindOf(gvr schema.GroupVersionResource, r served.Resource) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[gvr]
	if k == nil {
		k = newKind(r, s.queue, s.config.Shards)
		k.budget = s.budget
		if r.GroupResource() == namespacesResource {
			k.onChange = s.namespaces.set
		}
		s.kinds[gvr] = k
	}
	return k
}

// forgetKinds drops kinds that are not watched and whose results have been removed. If one of them stood in
// the way of a new kind of the same name, the next plan starts that.
func (s *Scanner) forgetKinds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvr, k := range s.kinds {
		if k.source == nil && k.unused() {
			delete(s.kinds, gvr)
			s.assigned = nil
			s.planning.Fire()
		}
	}
}

// clearing reports whether there are kinds that are not watched.
func (s *Scanner) clearing() bool {
	for _, k := range s.allKinds() {
		if k.source == nil {
			return true
		}
	}
	return false
}

// sources returns the sources of all watched kinds.
func (s *Scanner) sources() []*source.Source {
	var watched []*source.Source
	for _, k := range s.allKinds() {
		if k.source != nil {
			watched = append(watched, k.source)
		}
	}
	return watched
}

// reportRefused logs kinds that the API refuses. Each is logged once: if lists are allowed and watches are
// not, every attempt seems to succeed at first.
func (s *Scanner) reportRefused(ctx context.Context) {
	for _, watched := range s.sources() {
		gvr := watched.Resource().GroupVersionResource
		_, err := watched.State()
		if !apierrors.IsForbidden(err) || s.refusals[gvr] {
			continue
		}
		s.refusals[gvr] = true
		message := fmt.Sprintf(`%s can't be listed and watched, so their results stay as they were: give the controller a rule with apiGroups: [%q], resources: [%q], verbs: ["get", "list", "watch"], or exclude them`,
			gvr.GroupResource(), gvr.Group, gvr.Resource)
		klog.FromContext(ctx).Error(err, "Forbidden: "+message)
		s.eventToPoliciesOf(gvr, message)
	}
}
