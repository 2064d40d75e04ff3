// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import "slices"

const (
	areaWatches = "Watching"

	apiConcepts = "https://kubernetes.io/docs/reference/using-api/api-concepts/"
)

func watches() []rule {
	return slices.Concat(watchesChangesRules(), watchesResumeRules(), watchesSelectedRules(), watchesStartRules(), watchesStreamRules())
}
