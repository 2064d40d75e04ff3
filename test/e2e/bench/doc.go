// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench compares, on real control planes and through kube-apiserver, CRDs in
// etcd with Docket: `make bench-cluster`. All variants are measured in one run, each on
// a control plane of its own whose etcd waits for the disk.
package bench
