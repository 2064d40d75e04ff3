// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds serves kinds of objects from rows of a table: a [Kind] states the names
// of a kind, its printed columns, the fields that can be selected, and the rules by which
// its objects are written. From any row the package makes what the generic registry of
// the library needs: a strategy, a storage for REST, a table convertor, attributes for
// selectors, subresources, and the entries of a scheme.
//
// The tables are elsewhere: reports in package registry, the core API of docket up in
// package core. How objects are held in memory is the parameter O of a row. It is the
// type as which rules, columns and fields read an object: an interface with the document
// in the case of reports, the metadata of any Go object in that of the core API.
//
// Entry points are [NewREST] and [Kind.RegisterInternal]. Storage comes from the caller as
// a generic.RESTOptionsGetter. The package keeps no state and starts no goroutine.
package kinds
