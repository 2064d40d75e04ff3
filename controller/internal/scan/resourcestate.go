// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

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
