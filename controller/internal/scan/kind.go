// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

// buckets is into how many parts a periodic scan is divided.
const buckets = 60

// kind has all resources of a kind and knows which of them have been evaluated by which
// policies. Its source calls it as its store.
//
// Lock order: kind.mu, then one of slot.mu and queue.mu.
type kind struct {
	resource served.Resource
	queue    *queue
	// seen, if not nil, is told of each object that came or changed, or is gone. It is called
	// without a lock.
	onChange func(p *packed, gone bool)
	// source is nil while the kind is not watched. Only the planner uses it.
	source *source.Source
	// withoutData kinds keep no data: nothing is evaluated. It is changed only while there is no source.
	withoutData bool

	mu sync.Mutex
	// objects are the entries by namespace and name, those that are to be cleared included.
	objects map[string]map[string]*resourceState
	// live is how many of them exist.
	live int
	// listed reports whether the entries have been complete since the start of the source.
	listed bool
	// policies are to evaluate the kind; current has their revisions.
	policies  []*compiled
	revisions *revisionSet
	// withStatus reports whether a change of status alone is one.
	withStatus bool
	// dataMissing tells that the kind was lean, and its data are still missing.
	dataMissing bool
	// history has what resources were until lately, if policies give results at admission.
	history history
	// step is the last answer of the function due: at a change of policies most entries ask the
	// same.
	step struct {
		from *revisionSet
		task task
	}
	// next is the bucket of the next entry.
	next uint8
}

// resourceState is a resource, by its UID: one that was deleted and created again has two. What is in
// place belongs to the queue, all else is guarded by the mutex of the kind.
type resourceState struct {
	kind   *kind
	packed *packed
	// done are the revisions whose results were set, whether the resource changed since or not.
	done *revisionSet
	// stale tells which results of done are no longer those of the resource.
	stale staleness
	// deleted tells that the results of done are to go.
	deleted bool
	// bucket spreads periodic scans.
	bucket uint8
	queued queueState
	// twinOf is set in what stands for an entry in the queue of a slow policy. Such a twin has a kind and a
	// place alone.
	twinOf *resourceState
}

// staleness says which policies have to be evaluated again.
type staleness uint8

const (
	fresh staleness = iota
	// staleNamespace stands for those that look at the namespace.
	staleNamespace
	stale
)

func newKind(r served.Resource, q *queue) *kind {
	return &kind{resource: r, queue: q, objects: map[string]map[string]*resourceState{}, revisions: &revisionSet{}}
}

// Transformer has the reflector keep what it collects as small as this store does.
func (k *kind) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return k.pack(object) }
}

func (k *kind) pack(object any) (*packed, error) {
	switch object := object.(type) {
	case *packed:
		return object, nil
	case *unstructured.Unstructured:
		p, err := pack(object, !k.withoutData)
		if err == nil && k.resource.GroupResource() == namespacesResource {
			p.space = &space{labels: object.GetLabels()}
			p.space.visible, err = policy.HashOfNamespace(object)
		}
		return p, err
	default:
		return nil, fmt.Errorf("%s: object of the type %T", k.resource.GroupResource(), object)
	}
}

// Update takes an object that is new or has changed.
func (k *kind) Update(object any) error {
	p, err := k.pack(object)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.put(p, true)
	k.mu.Unlock()
	k.notify(p, false)
	return nil
}

// Delete takes an object that is gone.
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

// Replace takes all objects, at the start and whenever changes may have been missed.
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
		exist[k.put(p, k.listed)] = true
	}
	for _, names := range k.objects {
		for _, rs := range names {
			if !exist[rs] && !rs.deleted {
				k.remove(rs, true)
				gone = append(gone, rs.packed)
			}
		}
	}
	k.listed, k.dataMissing = true, false
	return gone
}

// put is called with the mutex.
func (k *kind) put(p *packed, urgent bool) *resourceState {
	names := k.objects[p.namespace]
	if names == nil {
		names = map[string]*resourceState{}
		k.objects[p.namespace] = names
	}
	rs := names[p.name]
	if rs != nil && rs.packed.uid != p.uid {
		k.remove(rs, urgent)
		rs = nil
	}
	if rs == nil {
		rs = &resourceState{kind: k, packed: p, bucket: k.next}
		k.next = (k.next + 1) % buckets
		k.live++
		names[p.name] = rs
		k.enqueue(rs, urgent)
		return rs
	}
	changed := rs.deleted || rs.packed.content != p.content || (k.withStatus && rs.packed.status != p.status)
	if rs.deleted {
		// It was to be cleared because nobody watched its kind.
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

// enqueue is called with the mutex. An entry of a kind without policies waits until there are
// some; what their predecessors left is cleared as soon as they go.
func (k *kind) enqueue(rs *resourceState, urgent bool) {
	if len(k.policies) > 0 {
		k.queue.add(rs, urgent)
	}
}

// setPolicies has the kind evaluated by policies from now on.
func (k *kind) setPolicies(policies []*compiled, withStatus bool) {
	next := &revisionSet{revisions: make([]*policyRevision, 0, len(policies))}
	for _, c := range policies {
		next.revisions = append(next.revisions, c.revision)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withStatus = withStatus
	if slices.Equal(next.revisions, k.revisions.revisions) {
		k.policies = policies // One for admission may be another one with the same revision.
		return
	}
	work := due(k.revisions, next, policies)
	k.policies, k.revisions = policies, next
	if len(work.due) == 0 && len(work.dropped) == 0 {
		return // Only policies that don't exist any more have gone, and their results with them.
	}
	k.each(func(rs *resourceState) { k.queue.add(rs, false) })
}

// clear has the results of all resources go. The source is stopped.
func (k *kind) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listed, k.dataMissing, k.policies, k.revisions = false, false, nil, &revisionSet{}
	k.each(func(rs *resourceState) { k.remove(rs, false) })
}

// markStale has a part of the resources evaluated again: those of a namespace, by all policies or by
// those that look at it.
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

// rescan has a part of the resources evaluated again: those of a bucket.
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

// each is called with the mutex, and calls do for the entries that exist.
func (k *kind) each(do func(*resourceState)) {
	for _, names := range k.objects {
		for _, rs := range names {
			if !rs.deleted {
				do(rs)
			}
		}
	}
}

// size returns how many resources exist.
func (k *kind) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live
}

// hasPolicies reports whether policies are to evaluate the kind.
func (k *kind) hasPolicies() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.policies) > 0
}

// unused reports whether nothing is or has to be evaluated or cleared.
func (k *kind) unused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.policies) == 0 && len(k.objects) == 0
}

// begin returns what is to be done for an entry. finish follows unless the scanner ends.
func (k *kind) begin(rs *resourceState) task {
	k.mu.Lock()
	defer k.mu.Unlock()
	if rs.deleted {
		return task{packed: rs.packed, before: rs.done, dropped: ownersOf(rs.done)}
	}
	if k.step.task.after != k.revisions || k.step.from != rs.done {
		k.step.from, k.step.task = rs.done, due(rs.done, k.revisions, k.policies)
	}
	result := k.step.task
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

// finish notes that a task is done.
func (k *kind) finish(rs *resourceState, done task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := rs.done
	rs.done = done.after
	if done.after != nil && before != done.before {
		// Results of requests were set meanwhile.
		for _, r := range before.revisions {
			if !done.before.has(r) && !done.after.has(r) {
				rs.done = rs.done.with(r)
			}
		}
	}
	if done.after != nil || !rs.deleted {
		return // If it was revived meanwhile it is in the queue, and has no results now.
	}
	names := k.objects[rs.packed.namespace]
	if names[rs.packed.name] != rs {
		return // Another one has its name now.
	}
	delete(names, rs.packed.name)
	if len(names) == 0 {
		delete(k.objects, rs.packed.namespace)
	}
}

// reference is how reports name a resource of the kind.
func (k *kind) reference(p *packed) policy.Reference {
	return policy.Reference{
		APIVersion: k.resource.GroupVersion().String(), Kind: k.resource.Kind,
		Namespace: p.namespace, Name: p.name, UID: p.uid,
	}
}
