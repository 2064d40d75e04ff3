// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the suite that a store passes on every engine: all of k8s.io/apiserver/pkg/storage/testing and
// what that leaves out. For tests only.
package storetest
