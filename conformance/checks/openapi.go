// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaOpenAPI = "OpenAPI"

	openAPIV3Text = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3"
	openAPIText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition"
)

func openapi() []runner.Check {
	return slices.Concat(openAPIDocumentsRules(), openAPIPathsRules(), openAPISchemasRules())
}
