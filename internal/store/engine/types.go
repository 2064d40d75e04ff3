// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"
)

// Revision numbers a change of a cluster's objects. The first is 1; 0 means none. It is what resourceVersion shows.
type Revision int64

// Incarnation changes when a database was restored or failed over, so that
// revisions handed out before mean nothing any more, unless a Gap says which do.
type Incarnation int64

// Resource names a set of objects that share a key space, such as "/wgpolicyk8s.io/policyreports/": the prefix of their
// storage keys. Keys in this package are what follows the prefix ("namespace/name" or "name").
type Resource string

// State of a cluster's revisions.
type State struct {
	// Revision of the last committed change, at least 1.
	Revision Revision
	// Compacted is the revision up to which events were dropped. Reads below it are answered with ErrCompacted.
	Compacted Revision
	// Incarnation differs from an earlier one when the revision was moved far ahead after a failover or restore:
	// everything known from before is void, except as Gap says.
	Incarnation Incarnation
	// Gap is the newest one in history; zero for none.
	Gap Gap
}

// Floor returns the lowest revision from which events lead to another one.
func (s State) Floor(revision Revision) Revision {
	if s.Gap.To > s.Compacted && s.Gap.To <= revision {
		return s.Gap.To
	}
	return min(s.Compacted, revision)
}

// Gap is a range of revisions that no event has. A database that was failed over may have lost the last changes, which
// somebody may have seen: their revisions are left out. A reader that knows no revision between After and To has seen
// nothing that was lost, and continues: To, the first revision of the present incarnation, is the same as After.
type Gap struct {
	After, To Revision
	// Before is the incarnation that ended with After.
	Before Incarnation
}

// Follows reports whether what was known of an incarnation up to After still holds.
func (g Gap) Follows(incarnation Incarnation) bool { return g.To > 0 && g.Before == incarnation }

// Has reports whether a revision was left out.
func (g Gap) Has(revision Revision) bool { return g.After < revision && revision < g.To }

// Over returns To for After, and any other revision as it is.
func (g Gap) Over(revision Revision) Revision {
	if revision == g.After {
		return max(revision, g.To)
	}
	return revision
}

// Value is an encoded object.
type Value struct {
	// Data as the codec made it.
	Data []byte
	// Codec says how to decode Data; meaningful to package codec only.
	Codec uint8
	// Size is the uncompressed length in bytes.
	Size int32
}

// Row is a stored object.
type Row struct {
	Key string
	// Revision of the change that wrote Value.
	Revision Revision
	// Created is the revision that created the object. It identifies the
	// object: a later one of the same key has another.
	Created Revision
	// ExpiresAt is the Unix time in seconds after which the object is to be deleted; 0 is never. It is 0 in rows that
	// were undone from history, which does not keep it.
	ExpiresAt int64
	Value
}

// ResourceRow is a row with the resource that it belongs to.
type ResourceRow struct {
	Resource Resource
	Row
}

// OpKind is what an op does. The numbers are stored.
type OpKind uint8

// The kinds of ops and events.
const (
	Create OpKind = 1
	Update OpKind = 2
	Delete OpKind = 3
)

// String returns the name of the kind.
func (k OpKind) String() string {
	switch k {
	case Create:
		return "create"
	case Update:
		return "update"
	case Delete:
		return "delete"
	}
	return "unknown"
}

// Op is a conditional change of one key.
type Op struct {
	Kind     OpKind
	Resource Resource
	Key      string
	// Expect is the revision that the row must have for Update and Delete. Create demands that there is no row.
	Expect Revision
	// Guard is a further condition, on another object; nil for none.
	Guard *Guard
	// Value and ExpiresAt of the row to be; not used by Delete.
	Value     Value
	ExpiresAt int64

	// KeepDerived says that Index and Projection are the same as before and need not be written. Update only. They
	// count as derived by Derivation from then on, unless an older version derived them.
	KeepDerived bool
	// Index holds the terms under which List finds the object.
	Index []Term
	// Projection holds the object's result rows; nil for none.
	Projection *Projection
	// Derivation is the version that Index and Projection were derived by.
	Derivation Derivation
	// Prepared is for the engine, which sets it in Prepare; nil for nothing.
	Prepared any
}

// Guard is a condition on an object that an op does not change: it must have this revision when the op happens, or not
// exist for 0. After changing the object, its writer knows that no op happens which was guarded by its earlier
// revision.
type Guard struct {
	Resource Resource
	Key      string
	Revision Revision
}

// Outcome of an op.
type Outcome struct {
	// Revision that the op took; 0 when its condition failed.
	Revision Revision
	// Created of the row that was written or deleted.
	Created Revision
	// Current is the row that made the condition fail, nil when there was none.
	Current *Row
	// Guarded says that the op's Guard made it fail; Current is not set then.
	Guarded bool
}

// Batch is what a commit did.
type Batch struct {
	Outcomes []Outcome
	// State after the commit. Incarnation is the one under which it happened.
	State State
	// Time of the events, by the clock of the database.
	Time time.Time
}

// Event is a change.
type Event struct {
	Revision Revision
	Kind     OpKind
	Resource Resource
	Key      string
	Created  Revision
	// Value that was written; empty for Delete.
	Value Value
	// PreviousRevision and Previous are what was replaced or deleted; zero for Create.
	PreviousRevision Revision
	Previous         Value
	Time             time.Time
}

// Term is an index entry: hashes of a label's key and value, or of a field's path and value. Different texts may share
// a hash: an index finds candidates only.
type Term struct {
	Name, Value int64
}

// Condition selects objects with an index term of this name and one of the values, or any value when there is none.
type Condition struct {
	Name   int64
	Values []int64
}

// Query selects rows of a resource.
type Query struct {
	Resource Resource
	// Prefix that keys must start with; "" for all.
	Prefix string
	// After: only keys above it, unless Inclusive, then from it on. "" for all.
	After     string
	Inclusive bool
	// Limit is the largest number of rows; 0 for no limit.
	Limit int
	// At is the revision of the snapshot; 0 for the latest. ErrCompacted below
	// the compacted revision, ErrFuture above the current one.
	At Revision
	// Conditions narrow the selection, all of them; the caller checks the rows again, since hashes can collide and rows
	// that were undone from history are returned whether they match or not.
	Conditions []Condition
	// Derivation is the version whose index terms Conditions ask for. Where the database's don't serve it
	// Conditions are left out, and all rows are selected.
	Derivation Derivation
	// Count asks for Page.Remaining.
	Count bool
}

// CountCap is the most keys that are counted for Page.Remaining: counting all of
// millions would cost seconds for the first page of each list.
const CountCap = 10_000

// Page is the answer to a query.
type Page struct {
	Rows []Row
	// More says that rows beyond the last one may exist.
	More bool
	// Remaining is the number of keys in the prefix after the last row, without regard to Conditions; 0 when there are
	// no rows, -1 when it wasn't asked for, or when more than CountCap keys would have to be counted. The first page of
	// all there is of a resource now is always counted: sums know it.
	Remaining int64
	// State of the snapshot that the rows were read from, as of now: with Query.At its Revision is the current one, not
	// At.
	State State
}

// CheckOps returns an error for ops that no engine commits together: of an unknown kind, or with the same key.
func CheckOps(ops []Op) error {
	type place struct {
		resource Resource
		key      string
	}
	seen := make(map[place]struct{}, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Kind < Create || op.Kind > Delete {
			return fmt.Errorf("op for %s%s has the unknown kind %d", op.Resource, op.Key, op.Kind)
		}
		seen[place{op.Resource, op.Key}] = struct{}{}
		if len(seen) == i {
			return fmt.Errorf("two ops for %s%s", op.Resource, op.Key)
		}
	}
	return nil
}
