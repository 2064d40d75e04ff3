// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds Report and ClusterReport of the group
// openreports.io. Results are shared with the other groups: see package report.
//
// +k8s:deepcopy-gen=package
// +groupName=openreports.io
package v1alpha1
