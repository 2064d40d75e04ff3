// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meter bounds the memory that the expressions of one evaluation take, in CEL and in JMESPath: what they
// are about to make is counted, and those that would make too much end. All counts are of bytes, estimated.
package meter
