// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"math"
)

// Derivation is a version of what is derived from objects: index terms and result rows. It rises when more or something
// else is derived. Rows that were derived by a version also serve readers of the version before, and of no older one.
type Derivation int16

// Serves reports whether lists of a version can rely on the index terms of a resource: none are missing.
func (s DerivationState) Serves(version Derivation) bool {
	return s.Complete >= version && s.Highest <= version+1
}

// DerivationState is what a database knows of the derived rows of a resource.
type DerivationState struct {
	// Complete is the version that the rows of all objects have at least.
	Complete Derivation
	// Highest is the newest version that any object's rows were ever derived by.
	Highest Derivation
}

// NothingToDerive is the state of a resource that nothing was ever stored of.
var NothingToDerive = DerivationState{Complete: math.MaxInt16}

// Derivations is the part of an Engine that keeps account of which version derived the rows of which object. A
// commit by an older version than others notes, in the same transaction, that the rows are no longer complete: no
// list relies on an index term that an older program did not write.
type Derivations interface {
	// Derivation returns the state of a resource. Of one that nothing was ever stored of everything is complete.
	Derivation(ctx context.Context, resource Resource) (DerivationState, error)

	// BeginDerivation notes that rows of a version are being made, before they are looked for with Underived,
	// and returns a mark for FinishDerivation.
	BeginDerivation(ctx context.Context, resource Resource, version Derivation) (mark Revision, err error)

	// Underived looks at the next objects above a key, at most limit of them, and returns those whose rows were
	// derived by a version below.
	Underived(ctx context.Context, resource Resource, after string, version Derivation, limit int) (Underived, error)

	// FinishDerivation notes that all objects have rows of a version at least, unless an older program wrote any
	// since the mark was set: then it changes nothing and returns false.
	FinishDerivation(ctx context.Context, resource Resource, version Derivation, mark Revision) (bool, error)
}

// Underived is a slice of a resource's objects.
type Underived struct {
	Rows []Row
	// Last is the key to go on after, "" at the end.
	Last string
}
