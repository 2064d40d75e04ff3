// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import "net/http"

func formats() []Breakage {
	return []Breakage{
		{
			Check: "table-list", What: "leaves the last column without cells in lists",
			Break: OnAnswered(And(Listing, Accepts("as=Table;")), func(table map[string]any) {
				eachOf(table, "rows", func(row map[string]any) {
					if cells, _ := row["cells"].([]any); len(cells) > 0 {
						row["cells"] = cells[:len(cells)-1]
					}
				})
			}),
		},
		{
			Check: "table-object", What: "answers with an empty Table when one object is asked for",
			Break: OnAnswered(Method(http.MethodGet, Single, Accepts("as=Table;")), func(table map[string]any) { table["rows"] = []any{} }),
		},
		{
			Check: "table-include-object", What: "ignores includeObject",
			Break: WithoutQuery(Collection, "includeObject"),
		},
		{
			Check: "table-watch", What: "sends watches that ask for Tables plain objects",
			Break: OnRequest(And(Collection, Watching, Accepts("as=Table;")), acceptJSON),
		},
		{
			Check: "table-fallback", What: "refuses Accept headers with more than one format",
			Break: Instead(And(Collection, Accepts("as="), Accepts(",")), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				a := &Answer{Header: http.Header{}}
				a.Status(http.StatusNotAcceptable, "NotAcceptable", "only the following media types are accepted: application/json")
				a.Send(w)
			}),
		},
		{
			Check: "metadata-object", What: "leaves the annotations out of PartialObjectMetadata",
			Break: OnAnswered(Method(http.MethodGet, Single, Accepts("as=PartialObjectMetadata;")), func(object map[string]any) {
				delete(FieldsOf(object, "metadata"), "annotations")
			}),
		},
		{
			Check: "metadata-list", What: "answers the whole objects in PartialObjectMetadataLists",
			Break: Instead(And(Listing, Accepts("as=PartialObjectMetadataList;")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				acceptJSON(r)
				a := Ask(next, r)
				a.Edit(func(list map[string]any) {
					if a.OK() {
						list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
					}
				})
				a.Send(w)
			}),
		},
		{
			Check: "metadata-watch", What: "sends watches that ask for metadata whole objects",
			Break: OnRequest(And(Collection, Watching, Accepts("as=PartialObjectMetadata;")), acceptJSON),
		},
	}
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
