// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document holds reports as the server handles them: type and metadata as Go
// values, all else as the JSON that is stored and sent. What a client sent, pruned and
// defaulted by the published schema, is what is stored; Go types of the kinds in api/
// are a view of it, for those who read results.
//
// [Object] is a report of one kind, [List] a list of them. [NewSerializer] reads and
// writes requests and answers as kube-apiserver does for custom resources; [NewCodec]
// reads and writes what is stored.
//
// The package starts no goroutine. A body never changes once it is made, so that copies
// of a report share it.
package document
