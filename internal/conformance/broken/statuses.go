// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
)

func statuses() []Breakage {
	return []Breakage{
		{
			Check: "status-ignored-by-create", What: "stores the status of new objects",
			Break: storeToo(Storing(http.MethodPost, Collection), "/status", "status"),
		},
		{
			Check: "status-ignored-by-update", What: "stores the status of objects that are sent",
			Break: storeToo(Storing(http.MethodPut, Single), "/status", "status"),
		},
		{
			Check: "status-update", What: "does not store the status that the subresource gets",
			Break: Instead(statusPuts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				object := Current(next, r)
				OnBody(statusPuts, func(_ *http.Request, sent map[string]any) bool {
					sent["status"] = object["status"]
					return object != nil
				})(next).ServeHTTP(w, r)
			}),
		},
		{
			Check: "status-ignores-rest", What: "stores the spec that the subresource status gets",
			Break: storeToo(statusPuts, "", "spec"),
		},
		{
			Check: "status-conflict", What: "does not look at the resourceVersion of a status that is sent",
			Break: KeepCurrent(statusPuts, "resourceVersion"),
		},
		{
			Check: "scale-get", What: "has Scales of extensions/v1beta1",
			Break: OnAnswered(AsObject(Subresource("scale")), func(object map[string]any) { object["apiVersion"] = "extensions/v1beta1" }),
		},
		{
			Check: "scale-update", What: "answers Scales that are sent and does not store them",
			Break: Instead(Storing(http.MethodPut, Subresource("scale")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				var sent map[string]any
				json.Unmarshal(BodyOf(r), &sent) //nolint:errcheck // There is no number then.
				a := Also(next, r, http.MethodGet, r.URL.Path, "", nil)
				if spec := sent["spec"]; a.OK() && spec != nil {
					a.Edit(func(object map[string]any) { object["spec"] = spec })
				}
				a.Send(w)
			}),
		},
	}
}

// statusPuts matches requests that change the status of objects.
func statusPuts(r *http.Request) bool { return Storing(http.MethodPut, Subresource("status"))(r) }

// storeToo stores a field of objects that are sent, which the server does not, with another request:
// one of the object or of the subresource.
func storeToo(match Match, subresource, field string) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := Ask(next, r)
		if object := a.Object(); a.OK() && object != nil && sent[field] != nil {
			path := PathOf(r)
			if name, ok := FieldsOf(object, "metadata")["name"].(string); ok && PlaceOf(r).Name == "" {
				path += "/" + name
			}
			object[field] = sent[field]
			if stored := Also(next, r, http.MethodPut, path+subresource, "application/json", object); stored.OK() {
				a.Body = stored.Body
			}
		}
		a.Send(w)
	})
}
