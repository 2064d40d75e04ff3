// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
)

// exceptionSet is all exceptions at a time. It never changes, and has its own address.
type exceptionSet struct {
	list []*unstructured.Unstructured
}

// plan makes watches and queue what policies and kinds ask for, and settles the results once
// everything has been evaluated. It is called by one goroutine, whenever anything has changed,
// and costs little when nothing has.
func (s *Scanner) plan(ctx context.Context) {
	woken := s.woken.Load()
	defer s.planned.Store(woken)
	s.undecided = true
	s.onIdle.Store(true) // Before looking at the queue.
	served := s.catalog.Load()
	if served == nil {
		return // What the API serves is not known yet.
	}
	s.planShelves(ctx, served)
	s.reportRefused(ctx)
	for _, shelf := range s.shelves {
		if shelf.source != nil && !shelf.source.decided() {
			s.waitFor("the list of %s", shelf.plural)
			return // Without all exceptions, results would be wrong.
		}
	}
	changed := s.compile(ctx)
	if ctx.Err() != nil {
		return
	}
	if namespaces := s.namespacesListed(served); changed || served != s.assigned || namespaces != s.namespacesWere {
		s.assigned, s.namespacesWere = served, namespaces
		s.assign(ctx, served, namespaces)
	}
	s.forgetKinds()
	s.settle(served, woken)
	s.onIdle.Store(!s.settled || s.settledBut != "" || s.clearing())
}

// planShelves watches the kinds of policies and exceptions that are served.
func (s *Scanner) planShelves(ctx context.Context, served *catalog) {
	for _, shelf := range s.shelves {
		found, ok := served.lookup(shelf.plural, shelf.kind.Kind)
		if shelf.source != nil && (!ok || shelf.source.resource != found) {
			shelf.source.stop()
			shelf.source = nil
		}
		switch {
		case !ok:
			shelf.clear()
		case shelf.source == nil:
			// What it had of another version remains until the new list is there.
			shelf.source = newSource(found, s.config.Client, s.config.Clock, s.sourceChanged)
			shelf.source.start(ctx, shelf)
		}
	}
}

// compile compiles what has changed, and returns whether kinds have to be evaluated by other
// policies than before. Policies that are gone go last, so that one that was renamed is not
// without results if the new one is evaluated soon.
func (s *Scanner) compile(ctx context.Context) (changed bool) {
	exceptions := s.currentExceptions()
	exist := map[policy.Identity]bool{}
	for _, shelf := range s.shelves {
		if shelf.exception {
			continue
		}
		for _, object := range shelf.list() {
			if ctx.Err() != nil {
				return changed
			}
			id := policy.Identity{Kind: shelf.kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
			exist[id] = true
			changed = s.compileOne(id, object, exceptions) || changed
		}
	}
	for id, gone := range s.slots {
		if !exist[id] {
			changed = gone.retire() || changed
			delete(s.slots, id)
		}
	}
	return changed
}

// currentExceptions are those that have not expired. It has the planner look again when the next
// one does.
func (s *Scanner) currentExceptions() *exceptionSet {
	next := &exceptionSet{}
	var expiry time.Time
	now := s.config.Clock.Now()
	for _, shelf := range s.shelves {
		if !shelf.exception {
			continue
		}
		for _, exception := range shelf.list() {
			at := policy.ExpiryOf(exception)
			if !at.IsZero() && !at.After(now) {
				continue
			}
			if !at.IsZero() && (expiry.IsZero() || at.Before(expiry)) {
				expiry = at
			}
			next.list = append(next.list, exception)
		}
	}
	s.expiry.Store(&expiry)
	// An object that is equal is the same one.
	if s.exceptions == nil || !slices.Equal(s.exceptions.list, next.list) {
		s.exceptions = next
	}
	return s.exceptions
}

func (s *Scanner) compileOne(id policy.Identity, object *unstructured.Unstructured, exceptions *exceptionSet) (changed bool) {
	at := s.slots[id]
	if at != nil && at.object == object && at.exceptions == exceptions {
		return false
	}
	if at == nil {
		at = &slot{id: id, results: s.config.Results}
		s.slots[id] = at
	}
	p := s.config.Compiler.Compile(object, exceptions.list)
	at.object, at.exceptions = object, exceptions
	at.background, at.problem = p.Background(), p.Problem()
	if !at.background {
		return at.retire()
	}
	changed = at.adopt(p)
	if changed && at.problem != nil {
		s.event(at, reasonNotEvaluated, "The policy can't be evaluated, its results are errors: %v", at.problem)
	}
	return changed
}

// wish is what a kind should be.
type wish struct {
	resource   resource
	policies   []*compiled
	withStatus bool
}

// assign gives each kind its policies, and watches those that have some.
func (s *Scanner) assign(ctx context.Context, served *catalog, namespacesListed bool) {
	wishes := s.wishes(served)
	for gvr, k := range s.allKinds() {
		if w, ok := wishes[gvr]; k.source != nil && (!ok || w.resource != k.resource) {
			k.source.stop()
			k.source = nil
			k.clear()
		}
	}
	for gvr, w := range wishes {
		k := s.kindOf(gvr, w.resource)
		if k.resource != w.resource {
			continue // Its other self has results to clear; then plan is called again.
		}
		k.setPolicies(w.policies, w.withStatus)
		if k.source == nil && (!w.resource.namespaced || namespacesListed) {
			k.source = newSource(k.resource, s.config.Client, s.config.Clock, s.sourceChanged)
			k.source.start(ctx, k)
		}
	}
}

// wishes returns the kinds that policies match, and namespaces if there are any policies.
func (s *Scanner) wishes(served *catalog) map[schema.GroupVersionResource]*wish {
	wishes := map[schema.GroupVersionResource]*wish{}
	var status []policy.Target
	for _, id := range slices.SortedFunc(maps.Keys(s.slots), compareIdentities) {
		c := s.slots[id].current
		if c == nil {
			continue
		}
		if c.catalog != served {
			c.catalog, c.kinds = served, kindsOf(c.targets, served, s.excluded)
		}
		for _, r := range c.kinds {
			w := wishes[r.GroupVersionResource]
			if w == nil {
				w = &wish{resource: r}
				wishes[r.GroupVersionResource] = w
			}
			w.policies = append(w.policies, c)
		}
		for _, target := range c.targets {
			if target.Subresource == "status" {
				target.Subresource = ""
				status = append(status, target)
			}
		}
	}
	for _, w := range wishes {
		w.withStatus = slices.ContainsFunc(status, func(t policy.Target) bool { return t.Matches(w.resource.gvk(), w.resource.Resource) })
	}
	if r, ok := served.lookup(namespacesResource, "Namespace"); ok && len(wishes) > 0 && wishes[r.GroupVersionResource] == nil {
		wishes[r.GroupVersionResource] = &wish{resource: r}
	}
	return wishes
}

func compareIdentities(a, b policy.Identity) int { return strings.Compare(a.String(), b.String()) }

// kindsOf returns what targets mean, each resource once.
func kindsOf(targets []policy.Target, served *catalog, excluded policy.Exclusion) []resource {
	var kinds []resource
	for _, target := range targets {
		for _, r := range served.matching(target, excluded) {
			if !slices.Contains(kinds, r) {
				kinds = append(kinds, r)
			}
		}
	}
	return kinds
}

// namespacesListed tells whether the labels of namespaces are known, or there are no namespaces.
func (s *Scanner) namespacesListed(served *catalog) bool {
	r, ok := served.lookup(namespacesResource, "Namespace")
	if !ok {
		return true
	}
	k := s.allKinds()[r.GroupVersionResource]
	if k == nil || k.source == nil {
		return false
	}
	listed, _ := k.source.state()
	return listed
}

func (s *Scanner) allKinds() map[schema.GroupVersionResource]*kind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.kinds)
}

// kindOf returns what is known of a resource, also if that has another kind or scope.
func (s *Scanner) kindOf(gvr schema.GroupVersionResource, r resource) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[gvr]
	if k == nil {
		k = newKind(r, s.queue)
		if r.GroupResource() == namespacesResource {
			k.seen = func(p *packed, gone bool) { s.namespaces.set(p.name, p.labels, gone) }
		}
		s.kinds[gvr] = k
	}
	return k
}

// forgetKinds forgets kinds that are not watched and whose results have gone. One that could not
// become what it should be because of them does so at the next plan.
func (s *Scanner) forgetKinds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvr, k := range s.kinds {
		if k.source == nil && k.unused() {
			delete(s.kinds, gvr)
			s.assigned = nil
			s.wake()
		}
	}
}

// clearing tells whether there are kinds to forget.
func (s *Scanner) clearing() bool {
	for _, k := range s.allKinds() {
		if k.source == nil {
			return true
		}
	}
	return false
}

// sources returns all that is watched. Kinds of policies that policies match are in it twice.
func (s *Scanner) sources() []*source {
	var watched []*source
	for _, shelf := range s.shelves {
		if shelf.source != nil {
			watched = append(watched, shelf.source)
		}
	}
	for _, k := range s.allKinds() {
		if k.source != nil {
			watched = append(watched, k.source)
		}
	}
	return watched
}

// reportRefused tells of sources that the API refuses. Once: where lists are allowed and watches
// are not, each attempt works at first.
func (s *Scanner) reportRefused(ctx context.Context) {
	for _, watched := range s.sources() {
		gvr := watched.resource.GroupVersionResource
		_, err := watched.state()
		if !apierrors.IsForbidden(err) || s.refusals[gvr] {
			continue
		}
		s.refusals[gvr] = true
		message := fmt.Sprintf(`%s can't be listed and watched, and their results stay as they were: give the controller a rule with apiGroups: [%q], resources: [%q], verbs: ["get", "list", "watch"], or exclude them`,
			gvr.GroupResource(), gvr.Group, gvr.Resource)
		klog.FromContext(ctx).Error(err, "Not allowed: "+message)
		s.eventToPoliciesOf(gvr, message)
	}
}
