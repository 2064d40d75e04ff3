// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"github.com/docket-project/docket/controller/internal/policy"
)

// Extent says what a source has seen.
type Extent interface {
	// Covers reports whether everything in the place of the subject has been seen.
	Covers(subject policy.Reference) bool
	// Complete reports whether everything that there is has been seen.
	Complete() bool
}

// Keep returns which of the results that a server had before a scan stay: those that the scan
// says nothing about. It says something about its policies where the source covers the place of
// the subject. If allPolicies is set the scan had all policies that there are, and if its
// source is complete as well, results of other policies don't stay either.
func Keep(policies []policy.Policy, extent Extent, allPolicies bool) func(policy.Identity, policy.Reference) bool {
	scanned := make(map[policy.Identity]bool, len(policies))
	for _, p := range policies {
		scanned[p.Identity()] = true
	}
	all := allPolicies && extent.Complete()
	return func(id policy.Identity, subject policy.Reference) bool {
		return !(all || scanned[id]) || !extent.Covers(subject)
	}
}
