// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregator puts several API servers behind one address: extension servers, which are
// registered by APIService objects, and either the servers in this process (its delegate) or a
// cluster (its Upstream), which has what is registered nowhere else.
//
// It is made of the parts of k8s.io/kube-aggregator (storage of APIServices, local
// availability, automatic registration, merging of OpenAPI) and of own parts where the
// library trusts extension servers too much: the proxy, the probes, and everything that
// reads documents from them. The library never talks to an extension server itself, so that
// what such a server sends is read with a limit, in time, and checked before it is merged.
//
//	config.go        from a Config to an Aggregator
//	run.go           goroutines: all are started by run, and ended when it returns
//	registry.go      what is registered now, in memory
//	forward.go       the reverse proxy; streams.go ends its watches with the server
//	proxy.go         requests to extension servers
//	availability.go  probes, and the condition Available (20 workers)
//	openapi.go       OpenAPI documents of extension servers (2 workers)
//	locals.go        APIServices for what this process or the cluster serves (2 workers)
//	crds.go          the same for custom resources (1 worker)
//	discovery.go     discovery with resources; groups.go has the form without
//	upstream*.go     the cluster: its discovery (1 goroutine), OpenAPI, requests to it
//	owner.go         a group version has one owner; admission
//	healthz.go       /apiservers/healthz
package aggregator
