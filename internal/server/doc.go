// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server has no code: the packages below it are `docket serve`, the extension API server of a cluster.
// apiserver turns options into a running server, with admission, health and metrics; bootstrap makes the objects
// that register it; registration watches whether clients reach it; frontproxy admits what kube-apiserver has
// authorized; imports writes reports with the metadata they had elsewhere; namespaces empties deleted namespaces.
//
// Imports: reports, store, results, kit. Begin at apiserver/options.go and apiserver/server.go.
package server
