// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaFormats = "Tables and metadata"

	aboutTables   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables"
	aboutMetadata = "https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"
	// aboutBoth has what the other pages leave out: includeObject, and how it is in watches.
	aboutBoth = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2334-graduate-server-side-get-and-partial-objects-to-GA"
)

func formats() []runner.Check {
	return slices.Concat(formatsTablesRules(), formatsMetadataRules())
}
