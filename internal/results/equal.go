// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// Equal says whether two projections give the same rows, so that the rows of an
// update needn't be written. Two nils are equal.
func Equal(a, b *engine.Projection) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equalHead(a, b) && same(a.Scope, b.Scope) && slices.EqualFunc(a.Results, b.Results, equalResult)
}

// equalHead compares all but scope and results.
func equalHead(a, b *engine.Projection) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID && a.Kind == b.Kind &&
		a.Source == b.Source && a.CreatedAt == b.CreatedAt &&
		a.Pass == b.Pass && a.Fail == b.Fail && a.Warn == b.Warn && a.Error == b.Error && a.Skip == b.Skip
}

func equalResult(a, b engine.Result) bool {
	return a.Index == b.Index && a.Seconds == b.Seconds && same(a.Verdict, b.Verdict) && same(a.Subject, b.Subject)
}

// same compares what pointers point to.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || *a == *b
}
