// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the kinds PolicyReport and ClusterPolicyReport of the
// group wgpolicyk8s.io. Results are shared with the other groups: see package
// report.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.wgpolicyk8s.v1alpha2
// +groupName=wgpolicyk8s.io
package v1alpha2
