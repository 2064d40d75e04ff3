// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema decides what a report may look like, as the published custom
// resource definitions do: which fields exist, of which types, which are required,
// and what of a request is stored.
//
// schemas.yaml states the schemas. They are read by the library with which
// kube-apiserver serves custom resources, so that what is pruned, what is refused,
// and with which words, is the same by construction: [Schema.Coerce] and
// [Schema.Validate]. That way goes through trees of Go values and is slow.
// [Schema.Normalize] goes once over the JSON instead. It knows less, and says so: it
// either returns just what the library would store, or that the library has to look.
// Nearly every report that is really written is of the first sort.
//
// Guarantee: whatever Normalize accepts, the library accepts with the same result.
// FuzzNormalize holds one against the other.
//
// The package keeps no state but the schemas and starts no goroutine. Everything is
// safe for concurrent use.
package schema
