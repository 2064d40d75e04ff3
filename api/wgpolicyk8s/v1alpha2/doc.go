// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the kinds PolicyReport and ClusterPolicyReport of the
// group wgpolicyk8s.io. Results are shared with the other groups: see package
// report.
//
// +k8s:deepcopy-gen=package
// +groupName=wgpolicyk8s.io
package v1alpha2
