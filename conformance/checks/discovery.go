// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDiscovery = "Discovery"

	discoveryText    = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api"
	unaggregatedText = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#unaggregated-discovery"
	aggregatedText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery"
)

var discovery = []runner.Check{
	{
		ID: "discovery-group", Area: areaDiscovery,
		Rule:      "The group is listed at /apis with all its versions, and its preferred version is one of them; the core group's version is listed at /api.",
		Detail:    "The version must be there with its groupVersion. A new group may be missing for a few seconds.",
		Reference: unaggregatedText,
		Run: settled(func(p *runner.Probe) {
			if p.GroupVersion.Group == "" { // The group that has no name.
				var list metav1.APIVersions
				response := wantDocument(p, "/api", "the versions of the core group", &list)
				if !slices.Contains(list.Versions, p.GroupVersion.Version) {
					response.FailBecause(fmt.Sprintf("versions are %q", list.Versions), "%s among the versions", p.GroupVersion.Version)
				}
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
		}),
	},
	{
		ID: "discovery-documents-agree", Area: areaDiscovery,
		Rule:      "/apis/GROUP agrees with what /apis says of the group, and /apis/GROUP/VERSION is the APIResourceList of that group version.",
		Detail:    "Compares names and versions, in any order. The core group has only the last document.",
		Reference: unaggregatedText,
		Run: settled(func(p *runner.Probe) {
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
		}),
	},
	{
		ID: "discovery-aggregated", Area: areaDiscovery,
		Rule:      "The aggregated discovery document has the same resources, with the same properties, as the document of the group version.",
		Detail:    "Compares kinds, scopes, verbs, singular and short names, categories, and subresources. Skipped if the server has no aggregated discovery, or says that it is stale.",
		Reference: aggregatedText,
		Run: settled(func(p *runner.Probe) {
			response, list := aggregatedDocument(p)
			version := versionOf(list, p.GroupVersion)
			if version == nil {
				response.Fail("the group version %s in the aggregated document", p.GroupVersion)
			}
			if version.Freshness == apidiscovery.DiscoveryFreshnessStale {
				runner.Stop(errStale)
			}
			_, resources := resourcesOf(p)
			differences := changesBetween(propertiesOf(p.GroupVersion, resources), aggregatedPropertiesOf(p.GroupVersion, version.Resources))
			failIfAny(response, changeTexts(differences), "the same resources of "+p.GroupVersion.String()+" as "+runner.GroupVersionPath(p.GroupVersion)+" has")
		}),
	},
	{
		ID: "discovery-etag", Area: areaDiscovery,
		Rule:      "The aggregated discovery document has an ETag; a client that already has the document gets 304.",
		Detail:    "Asks again with If-None-Match. Skipped if the server has no aggregated discovery.",
		Reference: aggregatedText,
		Run: func(p *runner.Probe) {
			for range attempts {
				response, _ := aggregatedDocument(p)
				etag := response.Header.Get("ETag")
				if etag == "" {
					response.Fail("an ETag")
				}
				again := p.Send(aggregatedRequest(p).With("If-None-Match", etag))
				if again.Code == http.StatusNotModified {
					return
				}
				if again.Code != http.StatusOK || again.Header.Get("ETag") == etag || string(again.Body) == string(response.Body) {
					again.Fail("304 Not Modified: the document is the one whose ETag was sent")
				}
			}
			runner.Leave("the document has changed each of %d times between two requests", attempts)
		},
	},
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

// aggregatedRequest asks for the aggregated document as clients do: one of the other sort will do.
func aggregatedRequest(p *runner.Probe) runner.Request {
	path := "/apis"
	if p.GroupVersion.Group == "" {
		path = "/api"
	}
	return runner.Get(path).With("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"+runner.JSON)
}

// aggregatedDocument returns the aggregated document. The check is left out if the server has none.
func aggregatedDocument(p *runner.Probe) (*runner.Response, *apidiscovery.APIGroupDiscoveryList) {
	response := p.Prepare("read the discovery document", aggregatedRequest(p))
	var kind metav1.TypeMeta
	if json.Unmarshal(response.Body, &kind) != nil || kind.Kind != "APIGroupDiscoveryList" || kind.APIVersion != apidiscovery.SchemeGroupVersion.String() {
		runner.Leave("the server has no aggregated discovery of the version apidiscovery.k8s.io/v2")
	}
	list := &apidiscovery.APIGroupDiscoveryList{}
	readDocument(response, "an APIGroupDiscoveryList", list)
	return response, list
}

func versionOf(list *apidiscovery.APIGroupDiscoveryList, gv schema.GroupVersion) *apidiscovery.APIVersionDiscovery {
	for _, group := range list.Items {
		if group.Name != gv.Group {
			continue
		}
		for i := range group.Versions {
			if group.Versions[i].Version == gv.Version {
				return &group.Versions[i]
			}
		}
	}
	return nil
}

// propertiesOf returns the properties of resources and subresources that both sorts of documents have, as texts, by the
// names of the resources.
func propertiesOf(gv schema.GroupVersion, resources []metav1.APIResource) map[string]any {
	found := map[string]any{}
	for _, one := range resources {
		properties := map[string]any{"kind": kindText(gv, one.Group, one.Version, one.Kind), "verbs": setText(one.Verbs)}
		found[one.Name] = properties
		if strings.Contains(one.Name, "/") {
			continue
		}
		properties["scope"] = string(apidiscovery.ScopeCluster)
		if one.Namespaced {
			properties["scope"] = string(apidiscovery.ScopeNamespace)
		}
		properties["singular name"] = one.SingularName
		properties["short names"] = setText(one.ShortNames)
		properties["categories"] = setText(one.Categories)
	}
	return found
}

func aggregatedPropertiesOf(gv schema.GroupVersion, resources []apidiscovery.APIResourceDiscovery) map[string]any {
	found := map[string]any{}
	text := func(kind *metav1.GroupVersionKind) string {
		if kind == nil {
			return ""
		}
		return kindText(gv, kind.Group, kind.Version, kind.Kind)
	}
	for _, one := range resources {
		for _, sub := range one.Subresources {
			found[one.Resource+"/"+sub.Subresource] = map[string]any{"kind": text(sub.ResponseKind), "verbs": setText(sub.Verbs)}
		}
		if len(one.Verbs) == 0 && text(one.ResponseKind) == "" {
			continue // It is only there for its subresources.
		}
		found[one.Resource] = map[string]any{
			"kind": text(one.ResponseKind), "verbs": setText(one.Verbs), "scope": string(one.Scope), "singular name": one.SingularResource,
			"short names": setText(one.ShortNames), "categories": setText(one.Categories),
		}
	}
	return found
}

// kindText names a kind in full: without group and version it is of the resource's.
func kindText(gv schema.GroupVersion, group, version, kind string) string {
	if kind == "" {
		return ""
	}
	if group == "" && version == "" {
		group, version = gv.Group, gv.Version
	}
	return schema.GroupVersion{Group: group, Version: version}.String() + " " + kind
}

func setText(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}
