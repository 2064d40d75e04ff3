// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import "sigs.k8s.io/structured-merge-diff/v6/typed"

// The library's words for values with a schema.
type (
	typedValue  = typed.TypedValue
	typedOption = typed.ValidationOptions
)
