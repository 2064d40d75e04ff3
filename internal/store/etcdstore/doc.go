// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdstore keeps objects in etcd, or in Kine, which speaks its API: the
// storage of k8s.io/apiserver with its watch cache, as kube-apiserver uses it.
//
// Of its own it has three things: it waits for an etcd that does not answer yet, it checks that etcd answers, and it
// turns errors of etcd into those that clients of the other engines get. There are no result rows.
//
// The library owns all goroutines; the Destroy function of each resource ends
// them, and Close ends the connection of the check.
package etcdstore
