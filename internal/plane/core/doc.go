// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core is the small core API of a control plane without a cluster: as much of
// the groups of Kubernetes as kubectl and extension API servers need. Objects are
// stored and nothing acts on them: no pod runs, no role is evaluated. What belongs to
// the API itself holds, such as defaults, names, generations, the separation of spec
// and status, and the life of a namespace.
//
// There is one table of resources (resources.go and the files beside it), which package
// kinds serves. What only one kind needs is a function in its row; what all Go objects
// have in common, such as a spec and a status, is in rules.go and status.go. Reviews,
// which aren't stored, are in package review.
//
// Entry points are [Prepare] and [Install]. Storage comes from the caller. The package
// keeps no state and starts no goroutine.
package core
