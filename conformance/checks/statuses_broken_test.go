// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenStatuses are servers that break the rules of this area.
func brokenStatuses() map[string]broken.Server {
	return map[string]broken.Server{
		"status-ignored-by-create": broken.That("stores the status of new objects", storeToo(broken.Storing(http.MethodPost, broken.Collection), "/status", "status")),
		"status-ignored-by-update": broken.That("stores the status of objects that are sent", storeToo(broken.Storing(http.MethodPut, broken.Single), "/status", "status")),
		"status-update": broken.That("does not store the status that the subresource gets", broken.Instead(statusPuts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			object := broken.Current(next, r)
			broken.OnBody(statusPuts, func(_ *http.Request, sent map[string]any) bool {
				sent["status"] = object["status"]
				return object != nil
			})(next).ServeHTTP(w, r)
		})),
		"status-ignores-rest": broken.That("stores the spec that the subresource status gets", storeToo(statusPuts, "", "spec")),
		"status-conflict":     broken.That("does not look at the resourceVersion of a status that is sent", broken.KeepCurrent(statusPuts, "resourceVersion")),
		"scale-get":           broken.That("has Scales of extensions/v1beta1", broken.OnAnswered(broken.AsObject(broken.Subresource("scale")), func(object map[string]any) { object["apiVersion"] = "extensions/v1beta1" })),
		"scale-update": broken.That("answers Scales that are sent and does not store them", broken.Instead(broken.Storing(http.MethodPut, broken.Subresource("scale")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			var sent map[string]any
			json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // There is no number then.
			a := broken.Also(next, r, http.MethodGet, r.URL.Path, "", nil)
			if spec := sent["spec"]; a.OK() && spec != nil {
				a.Edit(func(object map[string]any) { object["spec"] = spec })
			}
			a.Send(w)
		})),
	}
}

// storeToo stores a field of objects that are sent, which the server does not, with another request:
// one of the object or of the subresource.
func storeToo(match broken.Match, subresource, field string) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := broken.Ask(next, r)
		if object := a.Object(); a.OK() && object != nil && sent[field] != nil {
			path := broken.PathOf(r)
			if name, ok := broken.FieldsOf(object, "metadata")["name"].(string); ok && broken.PlaceOf(r).Name == "" {
				path += "/" + name
			}
			object[field] = sent[field]
			if stored := broken.Also(next, r, http.MethodPut, path+subresource, broken.JSONType, object); stored.OK() {
				a.Body = stored.Body
			}
		}
		a.Send(w)
	})
}

// statusPuts matches requests that change the status of objects.
func statusPuts(r *http.Request) bool {
	return broken.Storing(http.MethodPut, broken.Subresource("status"))(r)
}
