// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sample makes up policy reports of an imaginary cluster, like those that
// real producers write: Kyverno, Trivy, Falco, Kubewarden and kube-bench. The demo
// of `docket up` and the load generator use it.
//
// Entry points: [Cluster.Reports] is a mixture for people to look at,
// [Cluster.Report] one report of any of the six kinds with a wanted number of results.
//
// Everything depends only on the Cluster's fields and the arguments: equal calls
// give equal reports, in any order and from any goroutine. Each returned object is
// the caller's own.
package sample
