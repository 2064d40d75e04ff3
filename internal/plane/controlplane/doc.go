// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is a small control plane in one process, on one database: what
// `docket up` serves. Its servers are a chain, as in kube-apiserver. The first one has
// the address and knows who asks; each passes on what it doesn't serve:
//
//	aggregator        APIServices, discovery, OpenAPI, extension servers (package aggregator)
//	→ core            namespaces, configmaps, deployments, reviews … (package core)
//	→ custom          CustomResourceDefinitions and their objects (apiextensions-apiserver)
//	→ reports         policy reports (package apiserver), which owns the database
//
// Goroutines: Run starts all servers and the controllers that a control plane needs,
// such as the one that empties namespaces which are deleted, and returns when all of
// them have ended. They end with its context.
package controlplane
