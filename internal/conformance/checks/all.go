// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/internal/conformance"
)

// All returns the checks in the order in which they are listed.
func All() []conformance.Check {
	return slices.Concat(
		discovery(), openapi(), reads(), creates(), updates(), statuses(), patches(), applies(), dryRuns(), bodies(), values(), deletes(),
		lists(), watches(), formats(), versions(), namespaces(), dependents(), access(), health(),
	)
}
