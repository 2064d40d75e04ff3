// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"strings"
)

// versionDocument matches requests for the resources of a group version.
func versionDocument(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	return len(parts) == 3 && parts[0] == "apis"
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
	return OnAnswered(Method(http.MethodGet, match), func(object map[string]any) {
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
