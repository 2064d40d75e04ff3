// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"strings"
)

func formats() []Breakage {
	return []Breakage{
		{
			Check: "table-list", What: "leaves the last column without cells in lists",
			Break: onAnswered(all(listing, accepts("as=Table;")), func(table map[string]any) {
				eachOf(table, "rows", func(row map[string]any) {
					if cells, _ := row["cells"].([]any); len(cells) > 0 {
						row["cells"] = cells[:len(cells)-1]
					}
				})
			}),
		},
		{
			Check: "table-object", What: "answers with an empty Table when one object is asked for",
			Break: onAnswered(method(http.MethodGet, single, accepts("as=Table;")), func(table map[string]any) { table["rows"] = []any{} }),
		},
		{
			Check: "table-include-object", What: "ignores includeObject",
			Break: withoutQuery(collection, "includeObject"),
		},
		{
			Check: "table-watch", What: "sends watches that ask for Tables plain objects",
			Break: onRequest(all(collection, watching, accepts("as=Table;")), acceptJSON),
		},
		{
			Check: "table-fallback", What: "refuses Accept headers with more than one format",
			Break: instead(all(collection, accepts("as="), accepts(",")), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				a := &answer{header: http.Header{}}
				a.status(http.StatusNotAcceptable, "NotAcceptable", "only the following media types are accepted: application/json")
				a.send(w)
			}),
		},
		{
			Check: "metadata-object", What: "leaves the annotations out of PartialObjectMetadata",
			Break: onAnswered(method(http.MethodGet, single, accepts("as=PartialObjectMetadata;")), func(object map[string]any) {
				delete(fieldsOf(object, "metadata"), "annotations")
			}),
		},
		{
			Check: "metadata-list", What: "answers the whole objects in PartialObjectMetadataLists",
			Break: instead(all(listing, accepts("as=PartialObjectMetadataList;")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				acceptJSON(r)
				a := ask(next, r)
				a.edit(func(list map[string]any) {
					if a.ok() {
						list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
					}
				})
				a.send(w)
			}),
		},
		{
			Check: "metadata-watch", What: "sends watches that ask for metadata whole objects",
			Break: onRequest(all(collection, watching, accepts("as=PartialObjectMetadata;")), acceptJSON),
		},
	}
}

// accepts matches requests whose Accept header has a text.
func accepts(text string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), text) }
}

func acceptJSON(r *http.Request) { r.Header.Set("Accept", "application/json") }

// eachOf has edit change the objects in a list of an object.
func eachOf(object map[string]any, name string, edit func(map[string]any)) {
	items, _ := object[name].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			edit(fields)
		}
	}
}
