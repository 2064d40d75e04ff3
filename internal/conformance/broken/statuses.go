// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
)

func statuses() []Breakage {
	puts := storing(http.MethodPut, subresource("status"))
	return []Breakage{
		{
			Check: "status-ignored-by-create", What: "stores the status of new objects",
			Break: storeToo(storing(http.MethodPost, collection), "/status", "status"),
		},
		{
			Check: "status-ignored-by-update", What: "stores the status of objects that are sent",
			Break: storeToo(storing(http.MethodPut, single), "/status", "status"),
		},
		{
			Check: "status-update", What: "does not store the status that the subresource gets",
			Break: instead(puts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				object := current(next, r)
				onBody(puts, func(_ *http.Request, sent map[string]any) bool {
					sent["status"] = object["status"]
					return object != nil
				})(next).ServeHTTP(w, r)
			}),
		},
		{
			Check: "status-ignores-rest", What: "stores the spec that the subresource status gets",
			Break: storeToo(puts, "", "spec"),
		},
		{
			Check: "status-conflict", What: "does not look at the resourceVersion of a status that is sent",
			Break: keepCurrent(puts, "resourceVersion"),
		},
		{
			Check: "scale-get", What: "has Scales of extensions/v1beta1",
			Break: onAnswered(asObject(subresource("scale")), func(object map[string]any) { object["apiVersion"] = "extensions/v1beta1" }),
		},
		{
			Check: "scale-update", What: "answers Scales that are sent and does not store them",
			Break: instead(storing(http.MethodPut, subresource("scale")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				var sent map[string]any
				json.Unmarshal(bodyOf(r), &sent) //nolint:errcheck // There is no number then.
				a := also(next, r, http.MethodGet, r.URL.Path, "", nil)
				if spec := sent["spec"]; a.ok() && spec != nil {
					a.edit(func(object map[string]any) { object["spec"] = spec })
				}
				a.send(w)
			}),
		},
	}
}

// storeToo stores a field of objects that are sent, which the server does not, with another request:
// one of the object or of the subresource.
func storeToo(match Match, subresource, field string) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(bodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := ask(next, r)
		if object := a.object(); a.ok() && object != nil && sent[field] != nil {
			path := pathOf(r)
			if name, ok := fieldsOf(object, "metadata")["name"].(string); ok && placeOf(r).name == "" {
				path += "/" + name
			}
			object[field] = sent[field]
			if stored := also(next, r, http.MethodPut, path+subresource, "application/json", object); stored.ok() {
				a.body = stored.body
			}
		}
		a.send(w)
	})
}
