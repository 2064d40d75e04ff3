// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

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

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// exceptionSet is all exceptions at one time. It never changes, so that two are the same if their addresses
// are.
type exceptionSet struct {
	list []*unstructured.Unstructured
}

// plan updates watches and policies to what the API has now. One goroutine calls it whenever anything has
// changed; it is cheap when nothing has.
func (s *Set) plan(ctx context.Context) {
	fired := s.work.Fired()
	s.undecided = true
	catalog := s.config.Served.Current()
	if catalog == nil {
		return // What the API serves is not known yet.
	}
	s.planSources(ctx, catalog)
	s.reportRefused(ctx)
	for _, k := range s.kinds {
		if k.source != nil && !k.source.Decided() {
			s.waitFor("the list of %s", k.plural)
			return // Without all exceptions, results would be wrong.
		}
	}
	s.undecided = false
	// Before compile: a kind that is listed by now has its objects.
	missing := s.missing(catalog)
	items, ok := s.compile(ctx)
	if !ok {
		return
	}
	before := s.Current()
	if before == nil || !slices.Equal(before.Items, items) || !maps.Equal(before.Missing, missing) {
		s.publish(&Snapshot{Items: items, Missing: missing})
	}
	s.work.Handled(fired) // After the subscribers were called.
}

// planSources watches the kinds that are served.
func (s *Set) planSources(ctx context.Context, catalog *served.Catalog) {
	changed := false
	for _, k := range s.kinds {
		found, ok := catalog.Lookup(k.plural, k.kind.Kind)
		if k.source != nil && (!ok || k.source.Resource() != found) {
			k.source.Stop()
			k.source, changed = nil, true
		}
		switch {
		case !ok:
			k.Clear()
		case k.source == nil:
			// Objects of another version stay until the new one is listed.
			k.source, changed = source.New(source.Config{
				Resource: found, Client: s.config.Client, Clock: s.config.Clock,
				Changed: s.sourceChanged, Failed: s.config.Failed,
			}), true
			k.source.Start(ctx, k)
		}
	}
	if changed {
		s.publishSources()
	}
}

func (s *Set) publishSources() {
	var watched []*source.Source
	for _, k := range s.kinds {
		if k.source != nil {
			watched = append(watched, k.source)
		}
	}
	s.sources.Store(&watched)
}

// reportRefused logs kinds that the API refuses. Each is logged once: if lists are allowed and watches are
// not, every attempt seems to succeed at first.
func (s *Set) reportRefused(ctx context.Context) {
	for _, watched := range s.Sources() {
		gvr := watched.Resource().GroupVersionResource
		_, err := watched.State()
		if !apierrors.IsForbidden(err) || s.refusals[gvr] {
			continue
		}
		s.refusals[gvr] = true
		klog.FromContext(ctx).Error(err, fmt.Sprintf(
			`Forbidden: %s can't be listed and watched, so what is known of them stays as it was: give the controller a rule with apiGroups: [%q], resources: [%q], verbs: ["get", "list", "watch"]`,
			gvr.GroupResource(), gvr.Group, gvr.Resource))
	}
}

// missing returns the kinds whose objects are not known.
func (s *Set) missing(catalog *served.Catalog) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, k := range s.kinds {
		listed := !catalog.GroupFailed(k.kind.Group)
		if k.source != nil {
			listed, _ = k.source.State()
		}
		if !listed {
			kinds[k.kind] = true
		}
	}
	return kinds
}

// compile returns all policies, compiling only those that have changed. It returns false if ctx is done.
func (s *Set) compile(ctx context.Context) ([]*Item, bool) {
	exceptions := s.currentExceptions()
	known, items := make(map[policy.Identity]*Item, len(s.known)), make([]*Item, 0, len(s.known))
	for _, k := range s.kinds {
		if k.exception {
			continue
		}
		for _, object := range k.list() {
			if ctx.Err() != nil {
				return nil, false
			}
			id := policy.Identity{Kind: k.kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
			known[id] = s.compileOne(s.known[id], object, exceptions)
			items = append(items, known[id])
		}
	}
	s.known, s.exceptions = known, exceptions
	slices.SortFunc(items, func(a, b *Item) int {
		return strings.Compare(a.Policy.Identity().String(), b.Policy.Identity().String())
	})
	return items, true
}

// compileOne returns before if the object and the results that it gives are the same.
func (s *Set) compileOne(before *Item, object *unstructured.Unstructured, exceptions *exceptionSet) *Item {
	// keep returns the same pointer for an equal object.
	same := before != nil && before.Object == object
	if same && exceptions == s.exceptions {
		return before
	}
	next := &Item{Policy: s.config.Compiler.Compile(object, exceptions.list), Object: object}
	if same && next.Policy.Fingerprint() == before.Policy.Fingerprint() &&
		slices.Equal(policy.IgnoredExceptions(next.Policy), policy.IgnoredExceptions(before.Policy)) {
		return before
	}
	return next
}

// currentExceptions returns the exceptions that have not expired; the earlier set if it is equal.
func (s *Set) currentExceptions() *exceptionSet {
	next := &exceptionSet{}
	s.expiry = time.Time{}
	now := s.config.Clock.Now()
	for _, k := range s.kinds {
		if !k.exception {
			continue
		}
		for _, exception := range k.list() {
			at := policy.ExpiryOf(exception)
			if !at.IsZero() && !at.After(now) {
				continue
			}
			if !at.IsZero() && (s.expiry.IsZero() || at.Before(s.expiry)) {
				s.expiry = at
			}
			next.list = append(next.list, exception)
		}
	}
	if s.exceptions != nil && slices.Equal(s.exceptions.list, next.list) {
		return s.exceptions
	}
	return next
}
