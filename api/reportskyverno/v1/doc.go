// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the kinds EphemeralReport and ClusterEphemeralReport of the
// group reports.kyverno.io: the intermediate reports from which Kyverno's report
// controller makes the lasting ones. Results are shared with the other groups:
// see package report.
//
// +k8s:deepcopy-gen=package
// +groupName=reports.kyverno.io
package v1
