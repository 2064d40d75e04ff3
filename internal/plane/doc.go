// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plane has no code: the packages below it serve a Kubernetes API where no kube-apiserver does it. aggregator
// registers API servers, merges discovery and proxies; controlplane chains it with core, the small core API, for up
// (`docket up`); gateway puts it in front of a cluster (`docket gateway`); run starts an API server beside either.
// statedir keeps what a person's server needs between runs, sample makes reports to look at, uptest is for tests.
//
// Imports: server, reports, store, kit. Begin at up/run.go, or at gateway for a cluster.
package plane
