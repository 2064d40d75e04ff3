// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"cmp"
	"slices"

	"github.com/docket-project/docket/controller/internal/policy"
)

// AnyText is the wildcard in kinds, groups, versions, resources and subresources.
const AnyText = "*"

// WithSubresource adds the object itself if the subresource is any: for Kyverno and for the API server "*" includes it.
func WithSubresource(target policy.Target, subresource string) []policy.Target {
	with := target
	with.Subresource = subresource
	if subresource == AnyText {
		return []policy.Target{target, with}
	}
	return []policy.Target{with}
}

// Unique sorts targets and drops those that occur twice.
func Unique(targets []policy.Target) []policy.Target {
	slices.SortFunc(targets, func(a, b policy.Target) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Subresource, b.Subresource))
	})
	return slices.Compact(targets)
}
