// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache has no code: the packages below it keep data that policies read from elsewhere in memory.
// contextcache has the entries, their memory and freshness; objects finds what they name, in a cluster or in files;
// table holds it and evaluates JMESPath over it.
//
// Imports: policy, cluster. Begin at contextcache/cache.go; docs/controller/context-cache.md is the user's view.
package cache
