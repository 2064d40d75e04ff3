// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi has the OpenAPI definitions of the types of Kubernetes that package
// core serves. hack/generate.sh makes their document of k8s.io/api. The package keeps no
// state and starts no goroutine.
package openapi
