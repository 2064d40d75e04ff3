// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the extension API server: it turns options into a running
// server of the reports API, on the machinery of k8s.io/apiserver.
//
// The way is always the same:
//
//	Options → Complete → CompletedOptions → Config → Complete → CompletedConfig → New → Server → Run
//
// [Options] are flags and their defaults. [Config] holds plain values and built
// dependencies; it may be changed before Complete, which is what package
// up does to replace authentication. [Server] owns the database and the
// HTTPS server.
//
// With a cluster (NewOptions) requests are authenticated and authorized by the
// cluster's API server and pass its admission plugins, as far as that API server
// offers what each plugin needs (see admission.go). Without one
// (NewLocalOptions) the caller brings an authenticator and an authorizer, and there
// is no admission.
//
// Nothing registers itself: no APIService and no RBAC object is ever created. With --tls-secret the
// server writes that Secret, and the caBundle of APIServices that point to it.
//
// Goroutines: Server.Run starts two, the store and the HTTPS server, and returns
// when both have ended. The HTTPS server ends first, so that requests under way
// still find their store.
package apiserver
