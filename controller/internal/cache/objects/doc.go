// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects finds the objects that policies look at beside the one that they judge. A caller names
// them by a kind ([Find]) or by a path of the API ([ParsePath]); what there is turns the name into a [Selection]; a
// [Source] brings what is selected.
//
// A scan of files has [Documents]. They are the objects of an [API], which is the source of the context cache and the
// transport of all other clients, so that one store answers everything. A cluster may stand behind them ([Behind]).
package objects
