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
			Break: OnAnswer(And(Listing, QueryIs("resourceVersion", "0")), func(_ *http.Request, a *Answer) {
				if a.OK() {
					a.Status(http.StatusGone, "Expired", "too old resource version: 0")
				}
			}),
		},
		{
			Check: "list-version-exact", What: "shows the present state where that of a resourceVersion is wanted",
			Break: WithoutQuery(And(Listing, QueryIs("resourceVersionMatch", "Exact"), HasQuery("resourceVersion")), "resourceVersionMatch", "resourceVersion"),
		},
		{
			Check: "list-version-not-older", What: "lists from a cache that is one write behind",
			Break: onLateLists,
		},
		{
			Check: "list-version-future", What: "ignores a resourceVersion that it does not have yet",
			Break: AgainIf(And(Listing, HasQuery("resourceVersion")), func(a *Answer) bool { return a.Code == http.StatusGatewayTimeout }, "resourceVersion", "resourceVersionMatch"),
		},
		{
			Check: "list-version-malformed", What: "ignores a resourceVersion that is no number",
			Break: WithoutQuery(And(Listing, func(r *http.Request) bool {
				_, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
				return err != nil
			}), "resourceVersion"),
		},
		{
			Check: "list-match-without-version", What: "ignores resourceVersionMatch without a resourceVersion",
			Break: WithoutQuery(And(Listing, func(r *http.Request) bool { return !r.URL.Query().Has("resourceVersion") }), "resourceVersionMatch"),
		},
	}
}

// onLateLists leaves out what was written at the resourceVersion that a list is not to be older than.
func onLateLists(next http.Handler) http.Handler {
	return OnAnswer(And(Listing, QueryIs("resourceVersionMatch", "NotOlderThan")), func(r *http.Request, a *Answer) {
		a.Edit(func(list map[string]any) {
			items, _ := list["items"].([]any)
			kept := []any{}
			for _, one := range items {
				item, _ := one.(map[string]any)
				if item != nil && FieldsOf(item, "metadata")["resourceVersion"] != r.URL.Query().Get("resourceVersion") {
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
