// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaLists = "Listing"

	listMetaPage       = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-meta/"
	labelSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering"
	fieldSelectorPage  = "https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#supported-fields"
	chunksAnchor       = "#retrieving-large-results-sets-in-chunks"
	listVersionsAnchor = "#semantics-for-get-and-list"
)

func lists() []runner.Check {
	return slices.Concat(listsContentRules(), listsPagesRules(), listsSelectorsRules(), listsVersionsRules())
}
