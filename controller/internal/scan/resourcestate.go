// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

// resourceState is a resource, by its UID: one that was deleted and created again has two. The field
// queued belongs to the queue; everything else is guarded by the mutex of the kind.
//
// An example. A, B and C are policies, A1 and A2 two revisions of A. The kind is matched by A and B, so
// its revisions are {A1 B1} at first. The last two columns are what begin would return: policies to
// evaluate, and policies whose results are to be removed. A resource that has any of these is queued.
//
//	what happens to pod p             kind's revisions  done     stale  deleted   due    dropped
//	p is listed                       {A1 B1}           nil      fresh  false     A1 B1  -
//	a worker finishes p               {A1 B1}           {A1 B1}  fresh  false     -      -
//	p changes                         {A1 B1}           {A1 B1}  stale  false     A1 B1  -
//	a worker begins p                 {A1 B1}           {A1 B1}  fresh  false     -      -
//	p changes while it has p          {A1 B1}           {A1 B1}  stale  false     A1 B1  -
//	it finishes, and p once more      {A1 B1}           {A1 B1}  fresh  false     -      -
//	B changes                         {A1 B2}           {A1 B1}  fresh  false     B2     -
//	a worker finishes p               {A1 B2}           {A1 B2}  fresh  false     -      -
//	B is deleted, with its results    {A1}              {A1 B2}  fresh  false     -      -
//	C matches pods instead of A       {C1}              {A1 B2}  fresh  false     C1     A
//	a worker finishes p               {C1}              {C1}     fresh  false     -      -
//	p is deleted                      {C1}              {C1}     fresh  true      -      C
//	a worker finishes p               p is forgotten
//
// The change while a worker has p is not lost: begin takes the content and sets fresh under the mutex, and
// put then sets stale and has the queue hand out p once more. A resource that is deleted and comes back
// with the same UID before a worker has it, as when its kind was not watched for a moment, keeps done and
// becomes stale; if a worker was removing its results meanwhile, done is nil and everything is due.
// TestResourceStateExample goes through the table.
type resourceState struct {
	kind   *kind
	packed *packed
	// done are the revisions whose results were set, whether or not the resource has changed since; nil
	// for none.
	done *revisionSet
	// stale says which results of done may no longer be those of the resource.
	stale staleness
	// deleted is true if the resource is gone and the results of done are to be removed.
	deleted bool
	// bucket is the part of the periodic scan that the resource belongs to.
	bucket uint8
	queued queueState
	// standsFor is set in a stand-in, which stands for a resource in the queue of a slow policy. Of a stand-in, only
	// kind and queued are used.
	standsFor *resourceState
}

// staleness says which policies need another evaluation although their revision is done.
type staleness uint8

// The order matters: the greater value includes the smaller one.
const (
	fresh staleness = iota
	// staleNamespace: those that read the namespace.
	staleNamespace
	// stale: all.
	stale
)

// collection has the resources.
type collection struct {
	// objects are the resources by namespace and name, including deleted ones whose results are still to
	// be removed.
	objects map[string]map[string]*resourceState
	// live is the number of objects that exist.
	live int
	// listed is true once objects has been complete since the start of the source.
	listed bool
	// next is the bucket of the next new resource.
	next uint8
}

// add adds a new resource.
func (c *collection) add(rs *resourceState) {
	names := c.objects[rs.packed.namespace]
	if names == nil {
		names = map[string]*resourceState{}
		c.objects[rs.packed.namespace] = names
	}
	names[rs.packed.name] = rs
	c.next = (c.next + 1) % buckets
	c.live++
}

// forget drops a resource, unless a new one has its name now.
func (c *collection) forget(rs *resourceState) {
	names := c.objects[rs.packed.namespace]
	if names[rs.packed.name] != rs {
		return
	}
	delete(names, rs.packed.name)
	if len(names) == 0 {
		delete(c.objects, rs.packed.namespace)
	}
}

// each calls do for the resources that exist.
func (c *collection) each(do func(*resourceState)) {
	for _, names := range c.objects {
		for _, rs := range names {
			if !rs.deleted {
				do(rs)
			}
		}
	}
}

// revisionSet is a set of policy revisions. It never changes, and most resources of a kind share one.
type revisionSet struct {
	revisions []*policyRevision
}

// task is what a worker has to do for a resource.
type task struct {
	packed *packed
	// before are the revisions whose results were set.
	before *revisionSet
	// due are to be evaluated, except those that give results at admission. The results of dropped are
	// to be removed.
	due     []*compiled
	dropped []*policyState
	// after are the revisions whose results are set afterwards.
	after *revisionSet
}

// has reports whether the set, which may be nil, has a revision.
func (g *revisionSet) has(r *policyRevision) bool { return g != nil && slices.Contains(g.revisions, r) }

// with returns the set with one more revision. The set may be nil.
func (g *revisionSet) with(r *policyRevision) *revisionSet {
	next := &revisionSet{revisions: []*policyRevision{r}}
	if g != nil {
		next.revisions = append(next.revisions, g.revisions...)
	}
	return next
}

// due returns what has to be done so that a resource with the results of before, which may be nil, has
// those of after. policies belong to the revisions of after, in the same order. For example:
//
//	before   after     due   dropped
//	nil      {A1 B1}   A B   -
//	{A1 B1}  {A1 B2}   B     -         B has changed
//	{A1 B1}  {A1 C1}   C     B         B doesn't match the kind any more
//	{A1 B1}  {A1}      -     -         B is deleted: its results are gone already
func due(before, after *revisionSet, policies []*compiled) task {
	result := task{before: before, after: after}
	known := map[*policyRevision]bool{}
	if before != nil {
		for _, r := range before.revisions {
			known[r] = true
		}
	}
	owners := make(map[*policyState]bool, len(policies))
	for i, r := range after.revisions {
		owners[r.owner] = true
		if !known[r] {
			result.due = append(result.due, policies[i])
		}
	}
	for _, s := range ownersOf(before) {
		if !owners[s] && s.exists() {
			result.dropped = append(result.dropped, s)
		}
	}
	return result
}

// withReaders returns the policies of due and all that read namespaces.
func withReaders(due, policies []*compiled) []*compiled {
	all := slices.Clone(due) // The cached task shares it.
	for _, c := range policies {
		if c.readsNamespace() && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func ownersOf(g *revisionSet) []*policyState {
	if g == nil {
		return nil
	}
	owners := make([]*policyState, 0, len(g.revisions))
	for _, r := range g.revisions {
		owners = append(owners, r.owner)
	}
	return owners
}
