// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "k8s.io/apimachinery/pkg/runtime/schema"

// Exclusion is a set of resources that are never evaluated, whatever policies match; a group "*"
// stands for any, and so does a resource "*". Make it with [NewExclusion].
type Exclusion map[schema.GroupResource]bool

// NewExclusion has what changes all the time, is a copy of other resources, or says what policies
// found, and what the caller adds.
func NewExclusion(more ...schema.GroupResource) Exclusion {
	excluded := Exclusion{
		// They change all the time, are many, and describe no workload.
		{Resource: "events"}:                                    true,
		{Group: "events.k8s.io", Resource: "events"}:            true,
		{Group: "coordination.k8s.io", Resource: "leases"}:      true,
		{Resource: "endpoints"}:                                 true,
		{Group: "discovery.k8s.io", Resource: "endpointslices"}: true,
		{Resource: "componentstatuses"}:                         true,
		{Group: KyvernoGroup, Resource: "updaterequests"}:       true,
		{Group: "metrics.k8s.io", Resource: "*"}:                true,
		// Reports on reports would never end.
		{Group: "wgpolicyk8s.io", Resource: "*"}:                        true,
		{Group: "openreports.io", Resource: "*"}:                        true,
		{Group: "reports.kyverno.io", Resource: "*"}:                    true,
		{Group: KyvernoGroup, Resource: "admissionreports"}:             true,
		{Group: KyvernoGroup, Resource: "clusteradmissionreports"}:      true,
		{Group: KyvernoGroup, Resource: "backgroundscanreports"}:        true,
		{Group: KyvernoGroup, Resource: "clusterbackgroundscanreports"}: true,
	}
	for _, r := range more {
		excluded[r] = true
	}
	return excluded
}

// Has tells whether the resource is in the set.
func (e Exclusion) Has(r schema.GroupResource) bool {
	return e[r] || e[schema.GroupResource{Group: "*", Resource: r.Resource}] || e[schema.GroupResource{Group: r.Group, Resource: "*"}]
}
