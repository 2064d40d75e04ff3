// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filescan evaluates policies once: for objects from files, or for those of a cluster. It shows the
// results, and writes them as reports. Begin at [Command.Run], which is `docket-controller scan`.
//
// An [Input] reads and compiles the policies, and finds the resources; conversions begin with one, too. A [Source]
// returns the resources, [Run] evaluates them, and [Findings] keeps what is to be shown. [Files] is the source for
// objects from files, [Cluster] the one for a cluster. Which policies match a resource, what they see of its namespace
// and how they are evaluated is decided by packages served and policy, as in the background scan.
//
// Run starts a bounded number of workers and ends them all before it returns. A cluster is read page by
// page, while the workers evaluate the previous pages.
package filescan
