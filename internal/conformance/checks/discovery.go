// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaDiscovery = "Discovery"

	discoveryText    = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api"
	unaggregatedText = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery"
	aggregatedText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery"
)

func discovery() []conformance.Check {
	return slices.Concat(discoveryDocuments(), discoveryResources())
}

func discoveryDocuments() []conformance.Check {
	return []conformance.Check{
		{
			ID: "discovery-group", Area: areaDiscovery,
			Rule:      "The group is listed at /apis with all its versions, and the version it prefers is one of them; the core group's version is listed at /api.",
			Detail:    "Reads the list. The version has to be there with its groupVersion. What is just registered may be missing for a few seconds.",
			Reference: unaggregatedText,
			Run:       discoveryGroup,
		},
		{
			ID: "discovery-documents-agree", Area: areaDiscovery,
			Rule:      "/apis/GROUP says what /apis says of the group, and /apis/GROUP/VERSION is the APIResourceList of that group version.",
			Detail:    "Compares names, versions and the preferred version, in any order. Of the core group there is only the last document.",
			Reference: unaggregatedText,
			Run:       discoveryDocumentsAgree,
		},
		{
			ID: "discovery-aggregated", Area: areaDiscovery,
			Rule:      "The aggregated discovery document has the same resources, with the same properties, as that of the group version.",
			Detail:    "Compares kinds, scopes, verbs, singular and short names, categories and subresources. Left out if the server has no aggregated discovery, or says that it is stale.",
			Reference: aggregatedText,
			Run:       discoveryAggregated,
		},
		{
			ID: "discovery-etag", Area: areaDiscovery,
			Rule:      "The aggregated discovery document has an ETag; who has the document already is answered with 304.",
			Detail:    "Asks again with If-None-Match, several times if the document has changed in between. Left out if the server has no aggregated discovery.",
			Reference: aggregatedText,
			Run:       discoveryETag,
		},
	}
}

func discoveryResources() []conformance.Check {
	return []conformance.Check{
		{
			ID: "discovery-names", Area: areaDiscovery,
			Rule:      "Resources have lower-case names, in the singular too, and lower-case short names; kinds are in CamelCase.",
			Detail:    "Names have to be DNS labels. Whether a name is a plural nobody can tell; a missing singular is taken for the kind in lower case, as clients do.",
			Reference: apiConventions + "#types-kinds",
			Run:       discoveryNames,
		},
		{
			ID: "discovery-verbs", Area: areaDiscovery,
			Rule:      "Each resource and subresource has verbs, and only those of Kubernetes.",
			Detail:    "Those are get, list, watch, create, update, patch, delete, deletecollection and proxy.",
			Reference: apiConventions + "#verbs-on-resources",
			Run:       discoveryVerbs,
		},
		{
			ID: "discovery-subresources", Area: areaDiscovery,
			Rule:      "A subresource belongs to a resource that is listed; status has its kind, and scale is the Scale of autoscaling/v1.",
			Detail:    "Other subresources may be of any kind.",
			Reference: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#subresources",
			Run:       discoverySubresources,
		},
		{
			ID: "discovery-unique", Area: areaDiscovery,
			Rule:      "No two resources of the group version have the same name, short name or kind.",
			Detail:    "Names, singular names and short names count alike: clients look for all of them. Looks at all resources of the group version.",
			Reference: apiConventions + "#short-names",
			Run:       discoveryUnique,
		},
		{
			ID: "discovery-verbs-served", Area: areaDiscovery,
			Rule:        "A verb that discovery lists is not answered with 405; one that it does not list is not answered with success.",
			Detail:      "Tries get, list and watch, and with dryRun the other verbs, on names that do not exist or on an object of its own. Leaves deletecollection alone.",
			Reference:   discoveryText,
			PerResource: true,
			Run:         discoveryVerbsServed,
		},
	}
}

func discoveryGroup(ctx context.Context, p *conformance.Probe) error {
	return whenSettled(ctx, p, func(ctx context.Context) error {
		if p.GroupVersion.Group == "" {
			return coreVersionListed(ctx, p)
		}
		response, group, err := groupOfList(ctx, p)
		if err != nil {
			return err
		}
		if group == nil {
			return response.Fail("the group %s among the groups", p.GroupVersion.Group)
		}
		wanted := metav1.GroupVersionForDiscovery{GroupVersion: p.GroupVersion.String(), Version: p.GroupVersion.Version}
		if !slices.Contains(group.Versions, wanted) {
			return response.FailBecause(fmt.Sprintf("it has %s", versionsText(group.Versions)),
				"the group %s to have the version %s with the groupVersion %s", group.Name, wanted.Version, wanted.GroupVersion)
		}
		if !slices.Contains(group.Versions, group.PreferredVersion) {
			return response.FailBecause(fmt.Sprintf("preferredVersion is %s", versionsText([]metav1.GroupVersionForDiscovery{group.PreferredVersion})),
				"the preferredVersion of the group %s to be one of its versions: %s", group.Name, versionsText(group.Versions))
		}
		return nil
	})
}

// coreVersionListed is for the group that has no name.
func coreVersionListed(ctx context.Context, p *conformance.Probe) error {
	var list metav1.APIVersions
	response, err := wantDocument(ctx, p, "/api", "the versions of the core group", &list)
	if err != nil {
		return err
	}
	if !slices.Contains(list.Versions, p.GroupVersion.Version) {
		return response.FailBecause(fmt.Sprintf("versions are %q", list.Versions), "%s among the versions", p.GroupVersion.Version)
	}
	return nil
}

func discoveryDocumentsAgree(ctx context.Context, p *conformance.Probe) error {
	return whenSettled(ctx, p, func(ctx context.Context) error {
		var list metav1.APIResourceList
		response, err := wantDocument(ctx, p, conformance.GroupVersionPath(p.GroupVersion), "the resources of the group version", &list)
		if err != nil {
			return err
		}
		if list.Kind != "APIResourceList" || list.GroupVersion != p.GroupVersion.String() {
			return response.FailBecause(fmt.Sprintf("its kind is %q and its groupVersion %q", list.Kind, list.GroupVersion),
				"an APIResourceList whose groupVersion is %s", p.GroupVersion)
		}
		if p.GroupVersion.Group == "" {
			return nil
		}
		return groupDocumentsAgree(ctx, p)
	})
}

func groupDocumentsAgree(ctx context.Context, p *conformance.Probe) error {
	_, listed, err := groupOfList(ctx, p)
	if err != nil || listed == nil {
		return err // It has a check of its own that the group is listed.
	}
	var group metav1.APIGroup
	response, err := wantDocument(ctx, p, "/apis/"+p.GroupVersion.Group, "the group", &group)
	if err != nil {
		return err
	}
	if group.Kind != "APIGroup" || group.Name != p.GroupVersion.Group {
		return response.FailBecause(fmt.Sprintf("its kind is %q and its name %q", group.Kind, group.Name), "the APIGroup %s", p.GroupVersion.Group)
	}
	if !sameSet(group.Versions, listed.Versions) || group.PreferredVersion != listed.PreferredVersion {
		return response.FailBecause(fmt.Sprintf("/apis has %s", groupText(listed)), "the same versions and preferredVersion as /apis has of the group; this is %s", groupText(&group))
	}
	return nil
}
