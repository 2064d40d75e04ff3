// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

// All returns the checks in the order in which they are listed. A server that breaks the rule of each is in
// the tests of this package: see [TestBrokenServers].
func All() []runner.Check {
	return slices.Concat(
		discovery, discoveryResources, openapi, reads, creates, updates, statuses, patches, applies, dryRuns, bodies,
		values, deletes, deletesMany, lists, listsSelectors, watches, watchesStart, formats, versions,
		namespaces, dependents, access, health,
	)
}
