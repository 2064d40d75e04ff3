// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filescan evaluates policies once: against objects from files, or against those of a
// cluster. It says what was found, and hands the results on to whoever makes reports of them.
//
// A [Source] names the resources, [Run] evaluates them, a [Findings] keeps what is to be
// shown. [Files] is the source for objects that were read from files, [Cluster] that for a
// cluster.
//
// Run starts a bounded number of workers and ends them all before it returns. A cluster is
// read page by page, while the workers are busy with the pages before.
package filescan
