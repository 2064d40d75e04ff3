// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store is storage.Interface of k8s.io/apiserver on any engine: what the generic registry calls to keep
// objects, with the semantics of the etcd3 store (k8s.io/apiserver/pkg/storage/etcd3), which the tests compare it with.
//
// A Store is one per process and cluster. It owns the goroutines, all started by Run: the writer that commits batches,
// the follower that reads the events of other processes into the hub, and the housekeeper that drops old history,
// expired objects and unused rows. Each resource has a storage.Interface made by Store.Resource or through the
// RESTOptionsGetter.
//
// What is read from the database is read whole before it is decoded: no connection is held while transformers or codecs
// run, since those may call back into the store.
//
// Below it: engine is the contract of engines, sqlite and postgres fulfil it, enginetest and storetest prove it; hub
// wakes watchers, writer gathers writes, codec packs objects; database opens engines by URL, etcdstore is the library's
// storage for etcd and Kine. Imports: kit. Begin at store.go.
package store
