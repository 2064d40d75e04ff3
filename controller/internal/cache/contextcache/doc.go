// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contextcache keeps the data that contexts of policies read: resources of the cluster and
// answers of services. It learns what to keep from CachedContextEntry and GlobalContextEntry
// objects and from what policies declare themselves.
//
// An entry is a name for data. The data themselves, a [dataset], are shared by all entries that
// ask for the same. Readers never wait for writers: entries are found in an index that is
// replaced as a whole, and the state of a dataset is one pointer.
//
// Goroutines: all are owned by [Cache.Run] and ended before it returns: the planner, which is the
// only one that starts and stops datasets; for each dataset, either a reflector or a poller; one
// for notifications. [Cache.MaintainStatus] has none beside its caller's.
package contextcache
