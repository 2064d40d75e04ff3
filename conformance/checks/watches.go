// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaWatches = "Watching"

	apiConcepts = "https://kubernetes.io/docs/reference/using-api/api-concepts/"
)

func watches() []runner.Check {
	return slices.Concat(watchesChangesRules(), watchesResumeRules(), watchesSelectedRules(), watchesStartRules(), watchesStreamRules())
}
