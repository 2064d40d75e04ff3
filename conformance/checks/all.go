// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

// rule is a rule of APIs: what it says, how it is checked, and a server that breaks it.
//
// Programs that prove nothing do not have these servers: broken is not exported, and the linker leaves
// out what only [Proofs] calls.
type rule interface {
	// check returns the check, which calls nothing of broken.
	check() runner.Check
	// broken returns a server on which the check fails, and no other check does.
	broken() broken.Server
}

// rules returns the rules in the order in which they are listed.
func rules() []rule {
	return slices.Concat(
		discovery(), openapi(), reads(), creates(), updates(), statuses(), patches(), applies(), dryRuns(), bodies(), values(), deletes(), lists(),
		watches(), formats(), versions(), namespaces(), dependents(), access(), health(),
	)
}

// All returns the checks in the order in which they are listed.
func All() []runner.Check {
	var checks []runner.Check
	for _, r := range rules() {
		checks = append(checks, r.check())
	}
	return checks
}

// Proof is a check and a server that breaks its rule.
type Proof struct {
	Check  runner.Check
	Server broken.Server
}

// Proofs returns what proves that the checks can fail, in their order.
func Proofs() []Proof {
	var proofs []Proof
	for _, r := range rules() {
		proofs = append(proofs, Proof{r.check(), r.broken()})
	}
	return proofs
}
