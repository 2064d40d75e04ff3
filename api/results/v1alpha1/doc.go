// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the group results.docket.dev: the results in reports as objects of their own,
// counts of them, and questions about them. They are not stored: a server makes them from its reports.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.docket.results.v1alpha1
// +groupName=results.docket.dev
package v1alpha1
