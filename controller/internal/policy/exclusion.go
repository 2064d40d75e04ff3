// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "k8s.io/apimachinery/pkg/runtime/schema"

// Exclusion is a set of resources that are never evaluated, even if policies match them. "*" stands for any
// group or resource. Make it with [NewExclusion].
type Exclusion map[schema.GroupResource]bool

// NewExclusion returns resources that change all the time, are copies of others, or are results of policies, and
// those that the caller adds.
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

// NeverReviewed returns the resources for which no admission request is evaluated, even if a policy names them:
// reports, since each request could lead to another one; what the API server itself requests while it answers
// a request; leases, by which nodes show that they are alive; configurations of webhooks, which the API server
// never sends; and those that the caller adds.
func NeverReviewed(more ...schema.GroupResource) Exclusion {
	excluded := Exclusion{
		{Group: "coordination.k8s.io", Resource: "leases"}:                                   true,
		{Group: "authentication.k8s.io", Resource: "*"}:                                      true,
		{Group: "authorization.k8s.io", Resource: "*"}:                                       true,
		{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}:   true,
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: true,
	}
	for resource := range NewExclusion() {
		if resource.Resource == "*" && resource.Group != "metrics.k8s.io" || resource.Group == KyvernoGroup {
			excluded[resource] = true
		}
	}
	for _, r := range more {
		excluded[r] = true
	}
	return excluded
}

// Has reports whether the resource is in the set.
func (e Exclusion) Has(r schema.GroupResource) bool {
	return e[r] || e[schema.GroupResource{Group: "*", Resource: r.Resource}] || e[schema.GroupResource{Group: r.Group, Resource: "*"}]
}
