// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "slices"

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
