// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry asks image registries on behalf of policies that verify images. A scan evaluates
// the same images again and again, so answers are kept for a while, and a registry that does not
// answer is left alone for a while. Nothing is ever written to a registry.
//
// [Client] is shared. Each evaluation asks by a [Session], which knows at its end whether a registry
// has failed to answer: libraries that verify signatures take that for an image without one.
package registry
