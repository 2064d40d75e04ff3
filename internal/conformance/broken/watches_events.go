// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// objectOf returns the object of an event, and its uid; nil if the event has none.
func objectOf(event map[string]any) (object map[string]any, uid string) {
	object, _ = event["object"].(map[string]any)
	if object == nil {
		return nil, ""
	}
	uid, _ = FieldsOf(object, "metadata")["uid"].(string)
	return object, uid
}

// staleContents has MODIFIED events show the object before the change.
func staleContents(*http.Request) func(map[string]any) []map[string]any {
	known := map[string]map[string]any{}
	return func(event map[string]any) []map[string]any {
		object, uid := objectOf(event)
		if object == nil || uid == "" {
			return []map[string]any{event}
		}
		before := known[uid]
		known[uid] = object
		if before != nil && event["type"] == "MODIFIED" {
			stale, metadata := maps.Clone(before), maps.Clone(FieldsOf(before, "metadata"))
			metadata["resourceVersion"] = FieldsOf(object, "metadata")["resourceVersion"]
			stale["metadata"] = metadata
			event["object"] = stale
		}
		return []map[string]any{event}
	}
}

// staleVersions has MODIFIED events show the resourceVersion before the change.
func staleVersions(*http.Request) func(map[string]any) []map[string]any {
	known := map[string]any{}
	return func(event map[string]any) []map[string]any {
		object, uid := objectOf(event)
		if object == nil || uid == "" {
			return []map[string]any{event}
		}
		metadata := FieldsOf(object, "metadata")
		before := known[uid]
		known[uid] = metadata["resourceVersion"]
		if before != nil && event["type"] == "MODIFIED" {
			metadata["resourceVersion"] = before
		}
		return []map[string]any{event}
	}
}

// identityOfDeleted leaves the objects of DELETED events what is needed to find them.
func identityOfDeleted(event map[string]any) []map[string]any {
	object, _ := objectOf(event)
	if object == nil || event["type"] != "DELETED" {
		return []map[string]any{event}
	}
	metadata := map[string]any{}
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion"} {
		if value, ok := FieldsOf(object, "metadata")[name]; ok {
			metadata[name] = value
		}
	}
	event["object"] = map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata}
	return []map[string]any{event}
}

// unmarked takes the annotation away that tells the end of the initial events.
func unmarked(event map[string]any) []map[string]any {
	if object, _ := objectOf(event); object != nil && event["type"] == "BOOKMARK" {
		delete(FieldsOf(object, "metadata"), "annotations")
	}
	return []map[string]any{event}
}

// bookmarkEach sends a bookmark after each new object.
func bookmarkEach(event map[string]any) []map[string]any {
	if event["type"] != "ADDED" {
		return []map[string]any{event}
	}
	return []map[string]any{event, {"type": "BOOKMARK", "object": event["object"]}}
}

// selectEvents asks for all events and leaves out those whose objects do not match, without a look at
// what they were before.
func selectEvents(next http.Handler) http.Handler {
	matching := OnEvents(plain, func(r *http.Request) func(map[string]any) []map[string]any {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			selector = labels.Nothing()
		}
		return func(event map[string]any) []map[string]any {
			object, _ := objectOf(event)
			if kind := event["type"]; object == nil || kind == "BOOKMARK" || kind == "ERROR" {
				return []map[string]any{event}
			}
			set := labels.Set{}
			for name, value := range FieldsOf(FieldsOf(object, "metadata"), "labels") {
				set[name], _ = value.(string)
			}
			if !selector.Matches(set) {
				return nil
			}
			return []map[string]any{event}
		}
	})
	return matching(WithoutQuery(And(plain, Watching), "labelSelector")(next))
}

// widen makes a request about a namespace one about all.
func widen(r *http.Request) {
	if place := PlaceOf(r); place != nil && place.Namespace != "" {
		r.URL.Path = strings.Replace(r.URL.Path, "/namespaces/"+place.Namespace, "", 1)
	}
}

// beginNow has watches that should begin with what there is begin after it.
func beginNow(next http.Handler) http.Handler {
	fromAny := func(r *http.Request) bool {
		query := r.URL.Query()
		version := query.Get("resourceVersion")
		return Collection(r) && Watching(r) && (version == "" || version == "0") && !query.Has("sendInitialEvents")
	}
	return OnRequest(fromAny, func(r *http.Request) {
		query := r.URL.Query()
		query.Set("resourceVersion", currentVersion(next, r))
		r.URL.RawQuery = query.Encode()
	})(next)
}

// currentVersion returns the resourceVersion of a list of what a watch is about.
func currentVersion(next http.Handler, watch *http.Request) string {
	r := watch.Clone(watch.Context())
	r.URL.RawQuery = url.Values{"limit": {"1"}}.Encode()
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(Ask(next, r).Body, &list) != nil {
		return ""
	}
	return list.Metadata.ResourceVersion
}
