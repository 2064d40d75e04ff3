// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenDiscovery are servers that break the rules of this area.
func brokenDiscovery() map[string]broken.Server {
	return map[string]broken.Server{
		"discovery-group": broken.That("lists groups without the version that they prefer", broken.OnAnswered(broken.Method(http.MethodGet, groupDocument), func(object map[string]any) {
			delete(object, "preferredVersion")
			for _, group := range objectsOf(object, "groups") {
				delete(group, "preferredVersion")
			}
		})),
		"discovery-documents-agree": broken.That("forgets versions in the document of a single group", broken.OnAnswered(broken.Method(http.MethodGet, groupDocument), func(object map[string]any) {
			if versions, ok := object["versions"].([]any); ok && len(versions) > 0 {
				object["versions"] = versions[:1]
			}
		})),
		"discovery-aggregated": broken.That("forgets subresources in the aggregated document", broken.OnAnswered(broken.Method(http.MethodGet, groupDocument), func(object map[string]any) {
			eachAggregated(object, func(resource map[string]any) { delete(resource, "subresources") })
		})),
		"discovery-etag": broken.That("always sends the whole aggregated document", broken.OnRequest(broken.Method(http.MethodGet, groupDocument), func(r *http.Request) { r.Header.Del("If-None-Match") })),
		"discovery-names": broken.That("has short names in capitals", onResources(func(l *discovered) {
			names, _ := l.fields["shortNames"].([]any)
			for i := range names {
				name, _ := names[i].(string)
				names[i] = strings.ToUpper(name)
			}
		})),
		"discovery-verbs": broken.That("lists a verb that Kubernetes does not know", onResources(func(l *discovered) {
			verbs, _ := l.fields["verbs"].([]any)
			l.fields["verbs"] = append(verbs, "replace")
		})),
		"discovery-subresources": broken.That("says that scale has a kind of the resource's own group", onResources(func(l *discovered) {
			if l.subresource() == "scale" {
				l.setKind("Scale")
			}
		})),
		"discovery-unique": broken.That("has the same short name for all resources", onResources(func(l *discovered) {
			if l.subresource() == "" {
				names, _ := l.fields["shortNames"].([]any)
				l.fields["shortNames"] = append(names, "thing")
			}
		})),
		"discovery-verbs-served": broken.That("serves patches that it does not list", onResources(func(l *discovered) {
			if l.subresource() == "" {
				l.withoutVerb("patch")
			}
		})),
	}
}

// groupDocument matches requests for the list of groups, which is also the aggregated document, or for
// a single group.
func groupDocument(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	return len(parts) < 3 && parts[0] == "apis"
}

// objectsOf returns the objects in a list of an object.
func objectsOf(object map[string]any, name string) []map[string]any {
	list, _ := object[name].([]any)
	var objects []map[string]any
	for _, one := range list {
		if fields, ok := one.(map[string]any); ok {
			objects = append(objects, fields)
		}
	}
	return objects
}

// eachAggregated has visit see the resources of an aggregated document; there are none in others.
func eachAggregated(object map[string]any, visit func(resource map[string]any)) {
	for _, group := range objectsOf(object, "items") {
		for _, version := range objectsOf(group, "versions") {
			for _, resource := range objectsOf(version, "resources") {
				visit(resource)
			}
		}
	}
}

// discovered is a resource or subresource as discovery lists it, in one of the two sorts of documents. In
// both, verbs and shortNames are fields.
type discovered struct {
	fields map[string]any
	// name is widgets, or widgets/scale.
	name       string
	aggregated bool
}

func (l *discovered) subresource() string {
	_, sub, _ := strings.Cut(l.name, "/")
	return sub
}

// setKind makes it a kind of the group version of the resource.
func (l *discovered) setKind(kind string) {
	if l.aggregated {
		l.fields["responseKind"] = map[string]any{"group": "", "version": "", "kind": kind}
		return
	}
	l.fields["kind"] = kind
	delete(l.fields, "group")
	delete(l.fields, "version")
}

func (l *discovered) withoutVerb(verb string) {
	verbs, _ := l.fields["verbs"].([]any)
	var others []any
	for _, one := range verbs {
		if one != verb {
			others = append(others, one)
		}
	}
	l.fields["verbs"] = others
}

// onResources has edit change resources and subresources alike in all documents of discovery.
func onResources(edit func(*discovered)) func(http.Handler) http.Handler {
	match := func(r *http.Request) bool { return versionDocument(r) || groupDocument(r) }
	return broken.OnAnswered(broken.Method(http.MethodGet, match), func(object map[string]any) {
		for _, resource := range objectsOf(object, "resources") {
			name, _ := resource["name"].(string)
			edit(&discovered{resource, name, false})
		}
		eachAggregated(object, func(resource map[string]any) {
			name, _ := resource["resource"].(string)
			edit(&discovered{resource, name, true})
			for _, sub := range objectsOf(resource, "subresources") {
				subName, _ := sub["subresource"].(string)
				edit(&discovered{sub, name + "/" + subName, true})
			}
		})
	})
}

// versionDocument matches requests for the resources of a group version.
func versionDocument(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	return len(parts) == 3 && parts[0] == "apis"
}
