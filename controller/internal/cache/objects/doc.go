// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects finds the objects that policies look at beside the one that they judge. A caller names
// them by a kind ([Find]) or by a path of the API ([ParsePath]); what there is turns the name into a [Selection]; a
// [Source] brings what is selected.
package objects
