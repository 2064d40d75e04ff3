// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is one endpoint in front of a kube-apiserver that one can't
// reconfigure: what `docket gateway` serves. Group versions that are registered here go
// to their own servers, everything else goes to the cluster, and discovery and OpenAPI
// are merged.
//
//	request ── router ──┬─ registered group versions, discovery, OpenAPI, health
//	                    │      chain of filters of k8s.io/apiserver → aggregator
//	                    └─ all other paths
//	                           upstream: a reverse proxy; the cluster decides
//
// A profile says who callers are and what the cluster sees of them: single (the
// owner's kubeconfig), token (the caller's bearer token), impersonate (the gateway's
// credentials and Impersonate-* headers).
//
// Goroutines: Run starts the database's store, the HTTPS server, the mirror of the
// cluster's discovery and the sweeper of ended namespaces, and returns when all of
// them have ended. They end with its context.
package gateway
