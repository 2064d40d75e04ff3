// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// inventory knows what there is: the kinds that policies match, their resources and all namespaces. What its
// reflectors bring goes into the kinds, and from there into the queue.
type inventory struct {
	config *Config
	queue  *queue
	// planning wakes the planner when a kind is listed, or its requests begin or cease to fail.
	planning *broadcast.Trigger
	// budget bounds the memory for resources.
	budget *budget
	// namespaces has what policies see of namespaces.
	namespaces *namespaces
	// refused are the resources whose refusal is logged. It belongs to the planner.
	refused map[schema.GroupVersionResource]bool

	mu sync.RWMutex
	// kinds are those that policies match, and earlier ones until their results are removed. Only the
	// planner changes the map.
	kinds map[schema.GroupVersionResource]*kind
}

func newInventory(config *Config, planning *broadcast.Trigger) *inventory {
	i := &inventory{
		config: config, queue: newQueue(config.Clock), planning: planning, budget: newBudget(config.Memory),
		refused: map[schema.GroupVersionResource]bool{}, kinds: map[schema.GroupVersionResource]*kind{},
	}
	i.namespaces = &namespaces{changed: i.namespaceChanged, known: map[string]*packed{}}
	return i
}

// all returns a copy of the kinds.
func (i *inventory) all() map[schema.GroupVersionResource]*kind {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return maps.Clone(i.kinds)
}

// kindOf returns the kind of a resource. It may still be for another kind or scope of the same name.
func (i *inventory) kindOf(r served.Resource) *kind {
	i.mu.Lock()
	defer i.mu.Unlock()
	k := i.kinds[r.GroupVersionResource]
	if k == nil {
		k = newKind(r, i.queue, i.config.Shards)
		k.budget = i.budget
		if r.GroupResource() == namespacesResource {
			k.onChange = i.namespaces.set
		}
		i.kinds[r.GroupVersionResource] = k
	}
	return k
}

// watchedAs returns the kind of a resource, in this version or another; nil if it is not watched.
func (i *inventory) watchedAs(gvr schema.GroupVersionResource) *kind {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if k := i.kinds[gvr]; k != nil {
		return k
	}
	for _, k := range i.kinds {
		if k.resource.GroupResource() == gvr.GroupResource() {
			return k
		}
	}
	return nil
}

// assign gives each kind its policies, and watches the kinds that have any. Namespaced ones wait until all
// namespaces are listed. It reports whether a kind waits for the data of its resources.
func (i *inventory) assign(ctx context.Context, wanted map[schema.GroupVersionResource]*wantedKind, namespacesListed bool) (dataMissing bool) {
	for gvr, k := range i.all() {
		if w, ok := wanted[gvr]; ok && w.resource == k.resource {
			continue
		}
		if k.source != nil || k.hasPolicies() { // It may have waited for the namespaces, and never have been watched.
			k.stop()
			k.clear()
		}
	}
	for _, w := range wanted {
		k := i.kindOf(w.resource)
		if k.resource != w.resource {
			continue // Results of what the kind was before have to be removed; then it is planned again.
		}
		if k.source != nil && k.needsData(w) {
			k.stop()
		}
		k.setPolicies(k.possible(w.policies), w.withStatus)
		dataMissing = dataMissing || k.isDataMissing()
		if k.source == nil && (!w.resource.Namespaced || namespacesListed) {
			k.setDetail(w.detail())
			k.source = source.New(source.Config{
				Resource: k.resource, Client: i.config.Client, Clock: i.config.Clock, Changed: i.sourceChanged, Failed: RequestFailed,
			})
			k.source.Start(ctx, k)
		}
	}
	return dataMissing
}

// sourceChanged is called when a kind is listed, and when its requests begin or cease to fail.
func (i *inventory) sourceChanged(err error) {
	if source.Missing(err) {
		i.config.Served.Refresh()
	}
	i.planning.Fire()
}

// forget drops kinds that are not watched and whose results have been removed. It reports whether there were
// any: one may have stood in the way of a new kind of the same name.
func (i *inventory) forget() (found bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for gvr, k := range i.kinds {
		if k.source == nil && k.unused() {
			delete(i.kinds, gvr)
			found = true
		}
	}
	return found
}

// clearing reports whether there are kinds that are not watched.
func (i *inventory) clearing() bool {
	for _, k := range i.all() {
		if k.source == nil {
			return true
		}
	}
	return false
}

// sources returns the sources of all watched kinds.
func (i *inventory) sources() []*source.Source {
	var watched []*source.Source
	for _, k := range i.all() {
		if k.source != nil {
			watched = append(watched, k.source)
		}
	}
	return watched
}

// namespacesListed reports whether the labels of all namespaces are known, or the API has no namespaces.
func (i *inventory) namespacesListed(catalog *served.Catalog) bool {
	r, ok := catalog.Lookup(namespacesResource, "Namespace")
	if !ok {
		return true
	}
	k := i.all()[r.GroupVersionResource]
	if k == nil || k.source == nil {
		return false
	}
	listed, _ := k.source.State()
	return listed
}

// namespaceChanged queues the resources in a namespace.
func (i *inventory) namespaceChanged(name string, how staleness) {
	for _, k := range i.all() {
		if k.resource.Namespaced {
			k.markStale(name, how)
		}
	}
}

// size returns the number of kinds that policies match, and of their resources.
func (i *inventory) size() (kinds, resources int) {
	for _, k := range i.all() {
		if k.hasPolicies() {
			kinds++
			resources += k.size()
		}
	}
	return kinds, resources
}

// load returns a resource, from memory if it is there; nil if it is gone meanwhile.
func (i *inventory) load(ctx context.Context, k *kind, p *packed) (*unstructured.Unstructured, error) {
	if p.dropped {
		return fetch(ctx, i.config.Client, i.config.Clock, k, p)
	}
	return p.unpack()
}

// reportRefused logs kinds that the API refuses, and tells their policies. Each is logged once: if lists are
// allowed and watches are not, every attempt seems to succeed at first.
func (i *inventory) reportRefused(ctx context.Context, tell func(schema.GroupVersionResource, string)) {
	for _, watched := range i.sources() {
		gvr := watched.Resource().GroupVersionResource
		_, err := watched.State()
		if !apierrors.IsForbidden(err) || i.refused[gvr] {
			continue
		}
		i.refused[gvr] = true
		message := fmt.Sprintf(`%s can't be listed and watched, so their results stay as they were: give the controller a rule with apiGroups: [%q], resources: [%q], verbs: ["get", "list", "watch"], or exclude them`,
			gvr.GroupResource(), gvr.Group, gvr.Resource)
		klog.FromContext(ctx).Error(err, "Forbidden: "+message)
		tell(gvr, message)
	}
}

// unknown is what could not be listed. Stored results about it have to stay.
type unknown struct {
	policyKinds  map[string]bool
	subjectKinds map[schema.GroupKind]bool
	// groups are API groups that did not say which kinds they have; the kinds of known are known
	// nevertheless.
	groups map[string]bool
	known  map[schema.GroupKind]bool
}

// unknown returns what could not be listed.
func (i *inventory) unknown(catalog *served.Catalog, snapshot *policies.Snapshot) *unknown {
	rest := &unknown{policyKinds: map[string]bool{}, subjectKinds: map[schema.GroupKind]bool{}, groups: map[string]bool{}, known: map[schema.GroupKind]bool{}}
	for version := range catalog.Failed() {
		rest.groups[version.Group] = true
	}
	for kind := range snapshot.Missing {
		if policy.Kinds()[kind] != "" || policy.KyvernoKinds()[kind] != "" {
			rest.policyKinds[kind.Kind] = true
		}
	}
	for _, k := range i.all() {
		if k.source == nil {
			continue
		}
		kind := k.resource.GVK().GroupKind()
		if listed, _ := k.source.State(); listed {
			rest.known[kind] = true
		} else {
			rest.subjectKinds[kind] = true
		}
	}
	return rest
}

// has reports whether results of a policy for a subject can't be told to be obsolete.
func (u *unknown) has(id policy.Identity, subject policy.Reference) bool {
	kind := schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind).GroupKind()
	return u.policyKinds[id.Kind] || u.subjectKinds[kind] || (u.groups[kind.Group] && !u.known[kind])
}

// String lists what is unknown, sorted; it is empty if nothing is.
func (u *unknown) String() string {
	kinds := make([]string, 0, len(u.subjectKinds))
	for kind := range u.subjectKinds {
		kinds = append(kinds, kind.String())
	}
	slices.Sort(kinds)
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"policies", slices.Sorted(maps.Keys(u.policyKinds))}, {"kinds", kinds}, {"API groups", slices.Sorted(maps.Keys(u.groups))}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+" "+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
