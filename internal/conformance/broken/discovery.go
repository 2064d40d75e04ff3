// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"strings"
)

func discovery() []Breakage { return append(discoveryDocuments(), discoveryResources()...) }

func discoveryDocuments() []Breakage {
	return []Breakage{
		{
			Check: "discovery-group", What: "lists groups without the version that they prefer",
			Break: OnAnswered(Method(http.MethodGet, groupDocument), func(object map[string]any) {
				delete(object, "preferredVersion")
				for _, group := range objectsOf(object, "groups") {
					delete(group, "preferredVersion")
				}
			}),
		},
		{
			Check: "discovery-documents-agree", What: "leaves the group out of the groupVersion of the resources",
			Break: OnAnswered(Method(http.MethodGet, versionDocument), func(object map[string]any) {
				groupVersion, _ := object["groupVersion"].(string)
				_, object["groupVersion"], _ = strings.Cut(groupVersion, "/")
			}),
		},
		{
			Check: "discovery-documents-agree", What: "forgets versions in the document of a single group",
			Break: OnAnswered(Method(http.MethodGet, groupDocument), func(object map[string]any) {
				if versions, ok := object["versions"].([]any); ok && len(versions) > 0 {
					object["versions"] = versions[:1]
				}
			}),
		},
		{
			Check: "discovery-aggregated", What: "forgets subresources in the aggregated document",
			Break: OnAnswered(Method(http.MethodGet, groupDocument), func(object map[string]any) {
				eachAggregated(object, func(resource map[string]any) { delete(resource, "subresources") })
			}),
		},
		{
			Check: "discovery-etag", What: "always sends the whole aggregated document",
			Break: OnRequest(Method(http.MethodGet, groupDocument), func(r *http.Request) { r.Header.Del("If-None-Match") }),
		},
	}
}

func discoveryResources() []Breakage {
	return []Breakage{
		{
			Check: "discovery-names", What: "has short names in capitals",
			Break: onResources(func(l *discovered) {
				names, _ := l.fields["shortNames"].([]any)
				for i := range names {
					name, _ := names[i].(string)
					names[i] = strings.ToUpper(name)
				}
			}),
		},
		{
			Check: "discovery-verbs", What: "lists a verb that Kubernetes does not know",
			Break: onResources(func(l *discovered) {
				verbs, _ := l.fields["verbs"].([]any)
				l.fields["verbs"] = append(verbs, "replace")
			}),
		},
		{
			Check: "discovery-subresources", What: "says that scale has a kind of the resource's own group",
			Break: onResources(func(l *discovered) {
				if l.subresource() == "scale" {
					l.setKind("Scale")
				}
			}),
		},
		{
			Check: "discovery-unique", What: "has the same short name for all resources",
			Break: onResources(func(l *discovered) {
				if l.subresource() == "" {
					names, _ := l.fields["shortNames"].([]any)
					l.fields["shortNames"] = append(names, "thing")
				}
			}),
		},
		{
			Check: "discovery-verbs-served", What: "serves patches that it does not list",
			Break: onResources(func(l *discovered) {
				if l.subresource() == "" {
					l.withoutVerb("patch")
				}
			}),
		},
	}
}
