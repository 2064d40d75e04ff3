// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenWatches are servers that break the rules of this area.
func brokenWatches() map[string]broken.Server {
	return map[string]broken.Server{
		"watch-events":        broken.That("sends MODIFIED events with the object as it was before the change", broken.OnEvents(plain, staleContents)),
		"watch-versions":      broken.That("sends MODIFIED events with the resourceVersion from before the change", broken.OnEvents(plain, staleVersions)),
		"watch-deleted-state": broken.That("sends DELETED events with the identity of the object only", broken.OnEvents(plain, func(*http.Request) func(map[string]any) []map[string]any { return identityOfDeleted })),
		"watch-resume": broken.That("begins watches with the event whose resourceVersion was given, not with the next one", onWatchQuery(func(query url.Values) {
			if version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err == nil && version > 1 {
				query.Set("resourceVersion", strconv.FormatUint(version-1, 10))
			}
		})),
		"watch-label-selector": broken.That("shows watches those events whose objects match, as they are for all", selectEvents),
		"watch-field-selector": broken.That("ignores the fieldSelector of watches", broken.WithoutQuery(broken.And(broken.Collection, broken.Watching), "fieldSelector")),
		"watch-namespace":      broken.That("shows watches of a namespace all namespaces", broken.OnRequest(broken.And(broken.Collection, broken.Watching), widen)),
		"watch-from-any":       broken.That("begins watches without a resourceVersion with the next change", beginNow),
		"watch-initial-events": broken.That("does not mark the BOOKMARK after the initial events", broken.OnEvents(broken.Collection, func(*http.Request) func(map[string]any) []map[string]any { return unmarked })),
		"watch-too-old": broken.That("begins watches from a resourceVersion that is too old with what there is now", onWatchQuery(func(query url.Values) {
			if query.Get("resourceVersion") == "1" {
				query.Set("resourceVersion", "0")
			}
		})),
		"watch-version-malformed": broken.That("takes a resourceVersion that can't be read for none", onWatchQuery(func(query url.Values) {
			if _, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err != nil {
				query.Del("resourceVersion")
			}
		})),
		"watch-bookmarks": broken.That("sends the whole last object as a bookmark", broken.OnEvents(broken.And(plain, broken.HasQuery("allowWatchBookmarks")), func(*http.Request) func(map[string]any) []map[string]any { return bookmarkEach })),
		"watch-timeout":   broken.That("ignores timeoutSeconds", broken.WithoutQuery(broken.And(broken.Collection, broken.Watching), "timeoutSeconds")),
		"watch-stream": broken.That("sends watches as text", broken.Instead(broken.And(broken.Collection, broken.Watching), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(&textStream{w}, r)
		})),
	}
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
			stale, metadata := maps.Clone(before), maps.Clone(broken.FieldsOf(before, "metadata"))
			metadata["resourceVersion"] = broken.FieldsOf(object, "metadata")["resourceVersion"]
			stale["metadata"] = metadata
			event["object"] = stale
		}
		return []map[string]any{event}
	}
}

// objectOf returns the object of an event, and its uid; nil if the event has none.
func objectOf(event map[string]any) (object map[string]any, uid string) {
	object, _ = event["object"].(map[string]any)
	if object == nil {
		return nil, ""
	}
	uid, _ = broken.FieldsOf(object, "metadata")["uid"].(string)
	return object, uid
}

// staleVersions has MODIFIED events show the resourceVersion before the change.
func staleVersions(*http.Request) func(map[string]any) []map[string]any {
	known := map[string]any{}
	return func(event map[string]any) []map[string]any {
		object, uid := objectOf(event)
		if object == nil || uid == "" {
			return []map[string]any{event}
		}
		metadata := broken.FieldsOf(object, "metadata")
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
		if value, ok := broken.FieldsOf(object, "metadata")[name]; ok {
			metadata[name] = value
		}
	}
	event["object"] = map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata}
	return []map[string]any{event}
}

// onWatchQuery has edit change the parameters of watches.
func onWatchQuery(edit func(url.Values)) func(http.Handler) http.Handler {
	return broken.OnRequest(broken.And(broken.Collection, broken.Watching), func(r *http.Request) {
		query := r.URL.Query()
		edit(query)
		r.URL.RawQuery = query.Encode()
	})
}

// selectEvents asks for all events and leaves out those whose objects do not match, whatever they were before the
// change: it ignores their earlier state.
func selectEvents(next http.Handler) http.Handler {
	matching := broken.OnEvents(plain, func(r *http.Request) func(map[string]any) []map[string]any {
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
			for name, value := range broken.FieldsOf(broken.FieldsOf(object, "metadata"), "labels") {
				set[name], _ = value.(string)
			}
			if !selector.Matches(set) {
				return nil
			}
			return []map[string]any{event}
		}
	})
	return matching(broken.WithoutQuery(broken.And(plain, broken.Watching), "labelSelector")(next))
}

// widen makes a request about a namespace one about all.
func widen(r *http.Request) {
	if place := broken.PlaceOf(r); place != nil && place.Namespace != "" {
		r.URL.Path = strings.Replace(r.URL.Path, "/namespaces/"+place.Namespace, "", 1)
	}
}

// beginNow has watches that should begin with what there is begin after it.
func beginNow(next http.Handler) http.Handler {
	fromAny := func(r *http.Request) bool {
		query := r.URL.Query()
		version := query.Get("resourceVersion")
		return broken.Collection(r) && broken.Watching(r) && (version == "" || version == "0") && !query.Has("sendInitialEvents")
	}
	return broken.OnRequest(fromAny, func(r *http.Request) {
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
	if json.Unmarshal(broken.Ask(next, r).Body, &list) != nil {
		return ""
	}
	return list.Metadata.ResourceVersion
}

// unmarked takes the annotation away that tells the end of the initial events.
func unmarked(event map[string]any) []map[string]any {
	if object, _ := objectOf(event); object != nil && event["type"] == "BOOKMARK" {
		delete(broken.FieldsOf(object, "metadata"), "annotations")
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

// textStream is an answer whose media type is wrong.
type textStream struct{ http.ResponseWriter }

// WriteHeader sets the media type that net/http gives answers without one.
func (t *textStream) WriteHeader(code int) {
	if code == http.StatusOK {
		t.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	t.ResponseWriter.WriteHeader(code)
}

// Unwrap is for [http.ResponseController].
func (t *textStream) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// plain matches requests for objects as they are.
func plain(r *http.Request) bool { return broken.Collection(r) && !broken.Accepts("as=")(r) }
