// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package picture makes pictures of pages small, and compares them by what people would notice. Nothing that is
// released imports it.
package picture
