// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenFormats are servers that break the rules of this area.
func brokenFormats() map[string]broken.Server {
	return map[string]broken.Server{
		"metadata-object": broken.That("leaves the annotations out of PartialObjectMetadata", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single, broken.Accepts("as=PartialObjectMetadata;")), func(object map[string]any) {
			delete(broken.FieldsOf(object, "metadata"), "annotations")
		})),
		"metadata-list": broken.That("answers the whole objects in PartialObjectMetadataLists", broken.Instead(broken.And(broken.Listing, broken.Accepts("as=PartialObjectMetadataList;")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			acceptJSON(r)
			a := broken.Ask(next, r)
			a.Edit(func(list map[string]any) {
				if a.OK() {
					list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
				}
			})
			a.Send(w)
		})),
		"metadata-watch": broken.That("sends watches that ask for metadata whole objects", broken.OnRequest(broken.And(broken.Collection, broken.Watching, broken.Accepts("as=PartialObjectMetadata;")), acceptJSON)),
		"table-list": broken.That("leaves the last column without cells in lists", broken.OnAnswered(broken.And(broken.Listing, broken.Accepts("as=Table;")), func(table map[string]any) {
			eachOf(table, "rows", func(row map[string]any) {
				if cells, _ := row["cells"].([]any); len(cells) > 0 {
					row["cells"] = cells[:len(cells)-1]
				}
			})
		})),
		"table-object":         broken.That("answers with an empty Table when one object is asked for", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single, broken.Accepts("as=Table;")), func(table map[string]any) { table["rows"] = []any{} })),
		"table-include-object": broken.That("ignores includeObject", broken.WithoutQuery(broken.Collection, "includeObject")),
		"table-watch":          broken.That("sends watches that ask for Tables plain objects", broken.OnRequest(broken.And(broken.Collection, broken.Watching, broken.Accepts("as=Table;")), acceptJSON)),
		"table-fallback": broken.That("refuses Accept headers with more than one format", broken.Instead(broken.And(broken.Collection, broken.Accepts("as="), broken.Accepts(",")), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			a := &broken.Answer{Header: http.Header{}}
			a.Status(http.StatusNotAcceptable, "NotAcceptable", "only the following media types are accepted: application/json")
			a.Send(w)
		})),
	}
}

// eachOf has edit change the objects in a list of an object.
func eachOf(object map[string]any, name string, edit func(map[string]any)) {
	items, _ := object[name].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			edit(fields)
		}
	}
}

func acceptJSON(r *http.Request) { r.Header.Set("Accept", broken.JSONType) }
