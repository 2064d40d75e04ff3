// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate moves objects into Docket and back: from the custom resources of a
// cluster (Crds), from another database (Copy.Database), and from the tables of
// kyverno/reports-server (ReportsServer). docs/operate/migrate.md is the run-book.
//
// Custom resources are read and written at an additional version of their CRD,
// "migration": the same objects in etcd, at a path that the cluster itself still serves
// when an APIService sends the real version elsewhere.
//
// One copier works in every direction. It joins the lists of the two sides, which are in
// the order of their keys, and imports the differences; then it follows the watch of the
// source, if there is one. After any interruption (an expired watch, kill -9) it joins the
// lists again, so that nothing depends on memory. The verification is the same join
// without imports. State, in a ConfigMap, keeps what has to survive.
//
// No object is missing at the switch because the server holds requests from before the
// switch until the last event of the source is imported: imports.Hold.
//
// The goroutines of a call end before it returns.
//
// Kinds are given by the caller. Imports: store, kit, server/imports. Begin at copy.go.
package migrate
