// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi holds the generated OpenAPI definitions of every kind under
// api/, and of the apimachinery types that they and the API server refer to.
package openapi
