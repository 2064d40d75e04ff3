// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate moves reports into Docket and back: from the custom resources of a
// cluster (Crds), from another database (Database), and from the tables of
// kyverno/reports-server (ReportsServer). docs/operate/migrate.md is the run-book.
//
// Reports of a cluster are read and written at one more version of their CRD,
// "migration": the same objects in etcd, at a path that stays the cluster's own when
// an APIService takes the real version away.
//
// One primitive does the work, for each kind: reconcile lists both sides in the order
// of their keys, joins them, and imports what differs; follow then imports the events
// of a watch. Whatever interrupts (an expired watch, kill -9), reconcile comes first
// again, so that nothing depends on memory. What has to survive is kept in a
// ConfigMap: see State.
//
// No report is missing at the switch because the server holds requests back, from
// before the switch until the last event of the source was imported: imports.Hold.
//
// The goroutines of a call end before it returns.
package migrate
