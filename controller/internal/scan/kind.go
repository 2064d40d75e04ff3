// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// buckets is the number of parts into which a periodic scan is divided.
const buckets = 60

// kind has all resources of a kind with the policies that were evaluated for each. Its
// source calls it as its store.
//
// Lock order: kind.mu, then policyState.mu or queue.mu.
type kind struct {
	resource served.Resource
	queue    *queue
	// onChange, if not nil, is called without a lock for each object that is new, has changed, or is
	// gone.
	onChange func(p *packed, gone bool)
	// source is nil while the kind is not watched. Only the planner uses it.
	source *source.Source
	// shards have the namespaces whose resources are evaluated here. Others belong to other replicas, and are not kept.
	shards shard.Set

	mu sync.Mutex
	keeping
	collection
	matched
	// history has the recent contents of resources, if policies give results at admission.
	history history
}

// matched has the policies that match the kind.
type matched struct {
	// revisions has the revisions of policies, in the same order.
	policies  []*compiled
	revisions *revisionSet
	// withStatus is true if a change of the status alone counts as a change.
	withStatus bool
	// step caches the last result of due: after a change of policies, most resources need the same.
	step struct {
		from *revisionSet
		task task
	}
}

func newKind(r served.Resource, q *queue, shards shard.Set) *kind {
	return &kind{
		resource: r, queue: q, shards: shards, keeping: keeping{detail: detailAll},
		collection: collection{objects: map[string]map[string]*resourceState{}}, matched: matched{revisions: &revisionSet{}},
	}
}

// Transformer packs objects while the reflector collects them, so that a list takes no more memory than
// this store.
func (k *kind) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return k.pack(object) }
}

func (k *kind) pack(object any) (*packed, error) {
	switch object := object.(type) {
	case *packed:
		return object, nil
	case *unstructured.Unstructured:
		kept := k.detail
		if !k.shards.Owns(object.GetNamespace()) {
			kept = detailNone
		}
		p, err := pack(object, kept, &k.codec)
		if err == nil && kept != detailNone && k.resource.GroupResource() != namespacesResource {
			k.budget.spend(p)
		}
		if err == nil && k.resource.GroupResource() == namespacesResource {
			p.space = &space{labels: object.GetLabels()}
			p.space.visible, err = policy.HashOfNamespace(object)
		}
		return p, err
	default:
		return nil, fmt.Errorf("%s: object of the type %T", k.resource.GroupResource(), object)
	}
}

// Update implements [source.Store].
func (k *kind) Update(object any) error {
	p, err := k.pack(object)
	if err != nil {
		return err
	}
	if k.shards.Owns(p.namespace) {
		k.mu.Lock()
		k.put(p, true)
		k.mu.Unlock()
	}
	k.notify(p, false)
	return nil
}

// Delete implements [source.Store].
func (k *kind) Delete(object any) error {
	p, err := k.pack(object)
	if err != nil {
		return err
	}
	k.mu.Lock()
	if rs := k.objects[p.namespace][p.name]; rs != nil {
		k.remove(rs, true)
	}
	k.mu.Unlock()
	k.notify(p, true)
	return nil
}

// Replace implements [source.Store].
func (k *kind) Replace(objects []any, _ string) error {
	list := make([]*packed, 0, len(objects))
	for _, object := range objects {
		p, err := k.pack(object)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	gone := k.replace(list)
	for _, p := range list {
		k.notify(p, false)
	}
	for _, p := range gone {
		k.notify(p, true)
	}
	return nil
}

func (k *kind) notify(p *packed, gone bool) {
	if k.onChange != nil {
		k.onChange(p, gone)
	}
}

// replace returns what is gone.
func (k *kind) replace(list []*packed) (gone []*packed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	exist := make(map[*resourceState]bool, len(list))
	for _, p := range list {
		if k.shards.Owns(p.namespace) {
			exist[k.put(p, k.listed)] = true
		}
	}
	for _, names := range k.objects {
		for _, rs := range names {
			if !exist[rs] && !rs.deleted {
				k.remove(rs, true)
				gone = append(gone, rs.packed)
			}
		}
	}
	k.listed, k.kept, k.dataMissing = true, k.detail, false
	return gone
}

// put is called with the mutex.
func (k *kind) put(p *packed, urgent bool) *resourceState {
	rs := k.objects[p.namespace][p.name]
	if rs != nil && rs.packed.uid != p.uid {
		k.remove(rs, urgent)
		rs = nil
	}
	if rs == nil {
		rs = &resourceState{kind: k, packed: p, bucket: k.next}
		k.add(rs)
		k.enqueue(rs, urgent)
		return rs
	}
	changed := rs.deleted || rs.packed.content != p.content || (k.withStatus && rs.packed.status != p.status)
	if rs.deleted {
		// Its results were to be removed because its kind was not watched.
		rs.deleted = false
		k.live++
		k.history.forget(rs.packed.uid)
	}
	if rs.packed.content != p.content {
		k.remember(rs, rs.packed.content)
	}
	rs.packed = p
	if changed {
		rs.stale = stale
		k.enqueue(rs, urgent)
	}
	return rs
}

// remove is called with the mutex.
func (k *kind) remove(rs *resourceState, urgent bool) {
	if !rs.deleted {
		rs.deleted = true
		k.live--
		k.remember(rs, noContent)
	}
	k.queue.add(rs, urgent)
}

// enqueue is called with the mutex. Without policies there is nothing to evaluate: setPolicies queues all
// resources when there are some.
func (k *kind) enqueue(rs *resourceState, urgent bool) {
	if len(k.policies) > 0 {
		k.queue.add(rs, urgent)
	}
}

// stop ends the watch, if there is one.
func (k *kind) stop() {
	if k.source != nil {
		k.source.Stop()
		k.source = nil
	}
}

// setPolicies sets the policies that match the kind.
func (k *kind) setPolicies(policies []*compiled, withStatus bool) {
	next := &revisionSet{revisions: make([]*policyRevision, 0, len(policies))}
	for _, c := range policies {
		next.revisions = append(next.revisions, c.revision)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withStatus = withStatus
	if slices.Equal(next.revisions, k.revisions.revisions) {
		k.policies = policies // A policy for admission may have changed and kept its revision.
		return
	}
	work := due(k.revisions, next, policies)
	k.policies, k.revisions = policies, next
	if len(work.due) == 0 && len(work.dropped) == 0 {
		return // Only deleted policies are missing, and their results are removed already.
	}
	k.each(func(rs *resourceState) { k.queue.add(rs, false) })
}

// clear queues all resources, so that their results are removed. The source must have been stopped.
func (k *kind) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listed, k.dataMissing, k.policies, k.revisions = false, false, nil, &revisionSet{}
	k.each(func(rs *resourceState) { k.remove(rs, false) })
}

// markStale queues the resources of a namespace for evaluation, by all policies or by those that read the
// namespace.
func (k *kind) markStale(namespace string, how staleness) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if how == staleNamespace && !slices.ContainsFunc(k.policies, (*compiled).readsNamespace) {
		return
	}
	for _, rs := range k.objects[namespace] {
		if !rs.deleted {
			rs.stale = max(rs.stale, how)
			k.enqueue(rs, false)
		}
	}
}

// rescan queues the resources of a bucket.
func (k *kind) rescan(bucket uint8) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.each(func(rs *resourceState) {
		if rs.bucket == bucket {
			rs.stale = stale
			k.enqueue(rs, false)
		}
	})
}

// size returns the number of resources that exist.
func (k *kind) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live
}

// hasPolicies reports whether any policy matches the kind.
func (k *kind) hasPolicies() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.policies) > 0
}

// unused reports whether no policy matches the kind and no results have to be removed.
func (k *kind) unused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.policies) == 0 && len(k.objects) == 0
}

// begin returns what is to be done for a resource. The caller then calls finish, unless the scanner ends.
func (k *kind) begin(rs *resourceState) task {
	k.mu.Lock()
	defer k.mu.Unlock()
	if rs.deleted {
		return task{packed: rs.packed, before: rs.done, dropped: ownersOf(rs.done)}
	}
	result := k.due(rs.done)
	switch rs.stale {
	case stale:
		result.due = k.policies
	case staleNamespace:
		result.due = withReaders(result.due, k.policies)
	case fresh:
	}
	result.packed = rs.packed
	rs.stale = fresh
	return result
}

// due returns what has to be done for a resource with the results of before.
func (m *matched) due(before *revisionSet) task {
	if m.step.task.after != m.revisions || m.step.from != before {
		m.step.from, m.step.task = before, due(before, m.revisions, m.policies)
	}
	return m.step.task
}

// interrupt records that a task could not be done, so that all of it is done when the resource is queued once more.
func (k *kind) interrupt(rs *resourceState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rs.stale = stale
}

// finish records that a task is done.
func (k *kind) finish(rs *resourceState, done task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := rs.done
	rs.done = done.after
	if done.after != nil && before != done.before {
		// Results of admission requests were set meanwhile.
		for _, r := range before.revisions {
			if !done.before.has(r) && !done.after.has(r) {
				rs.done = rs.done.with(r)
			}
		}
	}
	if done.after != nil || !rs.deleted {
		return // If it came back meanwhile, it is queued, and has no results now.
	}
	k.forget(rs)
}

// reference returns how reports refer to a resource of the kind.
func (k *kind) reference(p *packed) policy.Reference {
	return policy.Reference{
		APIVersion: k.resource.GroupVersion().String(), Kind: k.resource.Kind,
		Namespace: p.namespace, Name: p.name, UID: p.uid,
	}
}
