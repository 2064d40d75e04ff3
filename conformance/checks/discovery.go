// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDiscovery = "Discovery"

	discoveryText    = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api"
	unaggregatedText = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery"
	aggregatedText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery"
)

func discovery() []runner.Check {
	return slices.Concat([]runner.Check{discoveryGroup(), discoveryDocumentsAgree()}, discoveryAggregatedRules(), discoveryResourcesRules(), discoveryServedRules())
}

func discoveryGroup() runner.Check {
	return runner.Check{
		ID: "discovery-group", Area: areaDiscovery,
		Rule:      "The group is listed at /apis with all its versions, and its preferred version is one of them; the core group's version is listed at /api.",
		Detail:    "The version must be there with its groupVersion. A new group may be missing for a few seconds.",
		Reference: unaggregatedText,
		Run: func(p *runner.Probe) {
			whenSettled(p, func() {
				if p.GroupVersion.Group == "" {
					coreVersionListed(p)
					return
				}
				response, group := groupOfList(p)
				if group == nil {
					response.Fail("the group %s among the groups", p.GroupVersion.Group)
				}
				wanted := metav1.GroupVersionForDiscovery{GroupVersion: p.GroupVersion.String(), Version: p.GroupVersion.Version}
				if !slices.Contains(group.Versions, wanted) {
					response.FailBecause(fmt.Sprintf("it has %s", versionsText(group.Versions)),
						"the group %s to have the version %s with the groupVersion %s", group.Name, wanted.Version, wanted.GroupVersion)
				}
				if !slices.Contains(group.Versions, group.PreferredVersion) {
					response.FailBecause(fmt.Sprintf("preferredVersion is %s", versionsText([]metav1.GroupVersionForDiscovery{group.PreferredVersion})),
						"the preferredVersion of the group %s to be one of its versions: %s", group.Name, versionsText(group.Versions))
				}
			})
		},
	}
}

// coreVersionListed is for the group that has no name.
func coreVersionListed(p *runner.Probe) {
	var list metav1.APIVersions
	response := wantDocument(p, "/api", "the versions of the core group", &list)
	if !slices.Contains(list.Versions, p.GroupVersion.Version) {
		response.FailBecause(fmt.Sprintf("versions are %q", list.Versions), "%s among the versions", p.GroupVersion.Version)
	}
}

func discoveryDocumentsAgree() runner.Check {
	return runner.Check{
		ID: "discovery-documents-agree", Area: areaDiscovery,
		Rule:      "/apis/GROUP agrees with what /apis says of the group, and /apis/GROUP/VERSION is the APIResourceList of that group version.",
		Detail:    "Compares names and versions, in any order. The core group has only the last document.",
		Reference: unaggregatedText,
		Run: func(p *runner.Probe) {
			whenSettled(p, func() {
				var list metav1.APIResourceList
				response := wantDocument(p, runner.GroupVersionPath(p.GroupVersion), "the resources of the group version", &list)
				if list.Kind != "APIResourceList" || list.GroupVersion != p.GroupVersion.String() {
					response.FailBecause(fmt.Sprintf("its kind is %q and its groupVersion %q", list.Kind, list.GroupVersion),
						"an APIResourceList whose groupVersion is %s", p.GroupVersion)
				}
				if p.GroupVersion.Group == "" {
					return
				}
				groupDocumentsAgree(p)
			})
		},
	}
}

func groupDocumentsAgree(p *runner.Probe) {
	_, listed := groupOfList(p)
	if listed == nil {
		return // It has a check of its own that the group is listed.
	}
	var group metav1.APIGroup
	response := wantDocument(p, "/apis/"+p.GroupVersion.Group, "the group", &group)
	if group.Kind != "APIGroup" || group.Name != p.GroupVersion.Group {
		response.FailBecause(fmt.Sprintf("its kind is %q and its name %q", group.Kind, group.Name), "the APIGroup %s", p.GroupVersion.Group)
	}
	if !sameSet(group.Versions, listed.Versions) || group.PreferredVersion != listed.PreferredVersion {
		response.FailBecause(fmt.Sprintf("/apis has %s", groupText(listed)), "the same versions and preferredVersion as /apis has of the group; this is %s", groupText(&group))
	}
}
