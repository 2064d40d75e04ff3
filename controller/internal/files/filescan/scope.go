// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"github.com/docket-project/docket/controller/internal/policy"
)

// Extent says what a source has seen.
type Extent interface {
	// Covers reports whether the source has seen everything in the namespace of a subject, and of its kind.
	Covers(subject policy.Reference) bool
	// Complete reports whether the source is not limited to a part of what exists.
	Complete() bool
}

// Keep returns which of the results that a server had before a scan stay: those that the scan can't replace. It
// replaces results of its policies for the subjects that the source covers. If allPolicies is set, the scan had all
// policies that exist; if the source is complete, too, results of other policies are removed as well, except those of
// kinds that only Kyverno evaluates.
func Keep(policies []policy.Policy, extent Extent, allPolicies bool) func(policy.Identity, policy.Reference, string) bool {
	scanned := make(map[policy.Identity]bool, len(policies))
	for _, p := range policies {
		scanned[p.Identity()] = true
	}
	all := allPolicies && extent.Complete()
	return func(id policy.Identity, subject policy.Reference, _ string) bool {
		return policy.OnlyKyverno(id.Kind) || !(all || scanned[id]) || !extent.Covers(subject)
	}
}
