// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"strings"
)

const (
	wgpolicyVersion    = "wgpolicyk8s.io/v1alpha2"
	openreportsVersion = "openreports.io/v1alpha1"
	ephemeralVersion   = "reports.kyverno.io/v1"
)

// Kind is one of the six kinds of reports.
type Kind struct {
	APIVersion string // group/version
	Kind       string
	Resource   string // plural, as in URLs
	Namespaced bool
}

// Kinds returns the six kinds.
func Kinds() []Kind {
	return []Kind{
		{wgpolicyVersion, "PolicyReport", "policyreports", true},
		{wgpolicyVersion, "ClusterPolicyReport", "clusterpolicyreports", false},
		{openreportsVersion, "Report", "reports", true},
		{openreportsVersion, "ClusterReport", "clusterreports", false},
		{ephemeralVersion, "EphemeralReport", "ephemeralreports", true},
		{ephemeralVersion, "ClusterEphemeralReport", "clusterephemeralreports", false},
	}
}

// KindOf finds a kind by its name or its resource, in any letter case.
func KindOf(name string) (Kind, error) {
	var known []string
	for _, kind := range Kinds() {
		if strings.EqualFold(name, kind.Kind) || strings.EqualFold(name, kind.Resource) {
			return kind, nil
		}
		known = append(known, kind.Kind)
	}
	return Kind{}, fmt.Errorf("unknown kind %q: use one of %s", name, strings.Join(known, ", "))
}

func (k Kind) ephemeral() bool { return k.APIVersion == ephemeralVersion }
