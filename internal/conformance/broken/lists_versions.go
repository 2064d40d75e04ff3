// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

func listsOfVersions() []Breakage {
	return []Breakage{
		{
			Check: "list-version-any", What: "takes the resourceVersion 0 for one that has expired",
			Break: onAnswer(all(listing, queryIs("resourceVersion", "0")), func(_ *http.Request, a *answer) {
				if a.ok() {
					a.status(http.StatusGone, "Expired", "too old resource version: 0")
				}
			}),
		},
		{
			Check: "list-version-exact", What: "shows the present state where that of a resourceVersion is wanted",
			Break: withoutQuery(all(listing, queryIs("resourceVersionMatch", "Exact"), hasQuery("resourceVersion")), "resourceVersionMatch", "resourceVersion"),
		},
		{
			Check: "list-version-not-older", What: "lists from a cache that is one write behind",
			Break: onLateLists,
		},
		{
			Check: "list-version-future", What: "ignores a resourceVersion that it does not have yet",
			Break: againIf(all(listing, hasQuery("resourceVersion")), func(a *answer) bool { return a.code == http.StatusGatewayTimeout }, "resourceVersion", "resourceVersionMatch"),
		},
		{
			Check: "list-version-malformed", What: "ignores a resourceVersion that is no number",
			Break: withoutQuery(all(listing, func(r *http.Request) bool {
				_, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
				return err != nil
			}), "resourceVersion"),
		},
		{
			Check: "list-match-without-version", What: "ignores resourceVersionMatch without a resourceVersion",
			Break: withoutQuery(all(listing, func(r *http.Request) bool { return !r.URL.Query().Has("resourceVersion") }), "resourceVersionMatch"),
		},
	}
}

// onLateLists leaves out what was written at the resourceVersion that a list is not to be older than.
func onLateLists(next http.Handler) http.Handler {
	return onAnswer(all(listing, queryIs("resourceVersionMatch", "NotOlderThan")), func(r *http.Request, a *answer) {
		a.edit(func(list map[string]any) {
			items, _ := list["items"].([]any)
			kept := []any{}
			for _, one := range items {
				item, _ := one.(map[string]any)
				if item != nil && fieldsOf(item, "metadata")["resourceVersion"] != r.URL.Query().Get("resourceVersion") {
					kept = append(kept, item)
				}
			}
			if items != nil {
				list["items"] = kept
			}
		})
	})(next)
}

// tokenOfNow returns a continue token of the library of API servers without its resourceVersion.
func tokenOfNow(token string) string {
	var content map[string]any
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(data, &content) != nil || content["rv"] == nil {
		return token
	}
	content["rv"] = -1
	if data, err = json.Marshal(content); err != nil {
		return token
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// againIf asks again without some parameters if that makes a difference for an answer.
func againIf(match Match, wrong func(*answer) bool, names ...string) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := bodyOf(r)
		a := ask(next, r)
		if wrong(a) {
			query := r.URL.Query()
			for _, name := range names {
				query.Del(name)
			}
			r.URL.RawQuery = query.Encode()
			setBody(r, body)
			a = ask(next, r)
		}
		a.send(w)
	})
}

func isBadRequest(a *answer) bool { return a.code == http.StatusBadRequest }
