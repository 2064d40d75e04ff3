// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "slices"

// Equal reports whether two projections give the same rows, so that the rows of an
// update need not be written. Two nils are equal.
func (p *Projection) Equal(other *Projection) bool {
	if p == nil || other == nil {
		return p == other
	}
	return equalHead(p, other) && same(p.Scope, other.Scope) && slices.EqualFunc(p.Results, other.Results, equalResult)
}

// equalHead compares all but scope and results.
func equalHead(a, b *Projection) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID && a.Kind == b.Kind &&
		a.Source == b.Source && a.CreatedAt == b.CreatedAt &&
		a.Pass == b.Pass && a.Fail == b.Fail && a.Warn == b.Warn && a.Error == b.Error && a.Skip == b.Skip
}

func equalResult(a, b Result) bool {
	return a.Index == b.Index && a.Seconds == b.Seconds && same(a.Verdict, b.Verdict) && same(a.Subject, b.Subject)
}

// same compares what pointers point to.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || *a == *b
}
