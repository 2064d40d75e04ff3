// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"net/url"
	"strconv"
)

func watches() []Breakage { return append(watchContents(), watchProtocol()...) }

func watchContents() []Breakage {
	return []Breakage{
		{
			Check: "watch-events", What: "sends MODIFIED events with the object as it was before the change",
			Break: OnEvents(plain, staleContents),
		},
		{
			Check: "watch-versions", What: "sends MODIFIED events with the resourceVersion from before the change",
			Break: OnEvents(plain, staleVersions),
		},
		{
			Check: "watch-deleted-state", What: "sends DELETED events with the identity of the object only",
			Break: OnEvents(plain, func(*http.Request) func(map[string]any) []map[string]any { return identityOfDeleted }),
		},
		{
			Check: "watch-resume", What: "begins watches with the event whose resourceVersion was given, not with the next one",
			Break: onWatchQuery(func(query url.Values) {
				if version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err == nil && version > 1 {
					query.Set("resourceVersion", strconv.FormatUint(version-1, 10))
				}
			}),
		},
		{
			Check: "watch-label-selector", What: "shows watches those events whose objects match, as they are for all",
			Break: selectEvents,
		},
		{
			Check: "watch-field-selector", What: "ignores the fieldSelector of watches",
			Break: WithoutQuery(And(Collection, Watching), "fieldSelector"),
		},
		{
			Check: "watch-namespace", What: "shows watches of a namespace all namespaces",
			Break: OnRequest(And(Collection, Watching), widen),
		},
	}
}

func watchProtocol() []Breakage {
	return []Breakage{
		{
			Check: "watch-from-any", What: "begins watches without a resourceVersion with the next change",
			Break: beginNow,
		},
		{
			Check: "watch-initial-events", What: "does not mark the BOOKMARK after the initial events",
			Break: OnEvents(Collection, func(*http.Request) func(map[string]any) []map[string]any { return unmarked }),
		},
		{
			Check: "watch-too-old", What: "begins watches from a resourceVersion that is too old with what there is now",
			Break: onWatchQuery(func(query url.Values) {
				if query.Get("resourceVersion") == "1" {
					query.Set("resourceVersion", "0")
				}
			}),
		},
		{
			Check: "watch-version-malformed", What: "takes a resourceVersion that can't be read for none",
			Break: onWatchQuery(func(query url.Values) {
				if _, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64); err != nil {
					query.Del("resourceVersion")
				}
			}),
		},
		{
			Check: "watch-bookmarks", What: "sends the whole last object as a bookmark",
			Break: OnEvents(And(plain, HasQuery("allowWatchBookmarks")), func(*http.Request) func(map[string]any) []map[string]any { return bookmarkEach }),
		},
		{
			Check: "watch-timeout", What: "ignores timeoutSeconds",
			Break: WithoutQuery(And(Collection, Watching), "timeoutSeconds"),
		},
		{
			Check: "watch-stream", What: "sends watches as text",
			Break: Instead(And(Collection, Watching), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				next.ServeHTTP(&textStream{w}, r)
			}),
		},
	}
}

// plain matches requests for objects as they are.
func plain(r *http.Request) bool { return Collection(r) && !Accepts("as=")(r) }

// onWatchQuery has edit change the parameters of watches.
func onWatchQuery(edit func(url.Values)) func(http.Handler) http.Handler {
	return OnRequest(And(Collection, Watching), func(r *http.Request) {
		query := r.URL.Query()
		edit(query)
		r.URL.RawQuery = query.Encode()
	})
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
