// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema decides what an object of a kind may look like, as kube-apiserver does for custom resources: which
// fields exist, of which types, which are required, and what of a request is stored.
//
// Schemas come from custom resource definitions, those of reports among them. They are read by the library with which
// kube-apiserver serves custom resources, so that what is pruned, what is refused, and with which words, is the same by
// construction: [Schema.Coerce] and [Schema.Validate]. That way goes through trees of Go values and is slow.
// [Schema.Normalize] goes once over the JSON instead. It knows less, and says so: it either returns just what the
// library would store, and whether that is valid, or that the library has to look. Nearly every object that is really
// written is of the first sort.
//
// Guarantee: whatever Normalize accepts, the library stores alike; what it finds valid, the library accepts.
// FuzzNormalize holds one against the other.
//
// The package keeps no state but the schemas and starts no goroutine. Everything is
// safe for concurrent use.
package schema
