// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is `docket gateway`: one endpoint in front of a kube-apiserver that its users
// can't reconfigure. Group versions that are registered here go to their own servers, everything
// else goes to the cluster, and discovery and OpenAPI are merged. All of that is package
// aggregator with the cluster as its Upstream; the gateway decides in whose name each request
// is made.
//
//	request ── router ──┬─ registered group versions, discovery, OpenAPI, health
//	                    │      filters of k8s.io/apiserver → aggregator
//	                    └─ all other paths
//	                           profile → aggregator.UpstreamProxy; the cluster decides
//
// A profile says who callers are and what the cluster sees of them: single-user (the
// owner's kubeconfig), token (the caller's bearer token), impersonate (the gateway's
// credentials and Impersonate-* headers).
//
// Goroutines: Run starts the database's store, the HTTPS server with the aggregator, and the
// sweeper of ended namespaces, and returns when all of them have ended. They end with its context.
package gateway
