// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenNamespaces are servers that break the rules of this area.
func brokenNamespaces() map[string]broken.Server {
	return map[string]broken.Server{
		"namespace-missing": broken.That("takes it for an error of its own that a namespace does not exist", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
			var status metav1.Status
			if a.Code == http.StatusNotFound && json.Unmarshal(a.Body, &status) == nil && status.Details != nil && status.Details.Kind == "namespaces" {
				a.Status(http.StatusInternalServerError, string(metav1.StatusReasonInternalError), "Internal error occurred: the namespace can't be read: not found")
			}
		})),
		"namespace-terminating": broken.That("refuses to create in a namespace that is being deleted, but does not say why", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusForbidden {
				a.Edit(func(status map[string]any) { delete(broken.FieldsOf(status, "details"), "causes") })
			}
		})),
		"namespace-deletion": broken.That("has the objects of a namespace still when the namespace is deleted", outlive),
	}
}

// outlive goes on to show objects as they were last seen when their namespace is being deleted.
func outlive(next http.Handler) http.Handler {
	var seen sync.Map // of answers by path and media type
	return broken.Instead(broken.Method(http.MethodGet, broken.Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.URL.Path + " " + r.Header.Get("Accept")
		a := broken.Ask(next, r)
		switch {
		case a.OK():
			seen.Store(key, a)
		case a.Code == http.StatusNotFound && ending(r, next):
			if last, ok := seen.Load(key); ok {
				a = last.(*broken.Answer) // Nothing else is in it.
			}
		}
		a.Send(w)
	})(next)
}

// ending reports whether the namespace of an object is being deleted, or does not exist.
func ending(r *http.Request, next http.Handler) bool {
	p := broken.PlaceOf(r)
	if p.Namespace == "" {
		return false
	}
	a := broken.Also(next, r, http.MethodGet, "/api/v1/namespaces/"+p.Namespace, "", nil)
	if !a.OK() {
		return a.Code == http.StatusNotFound
	}
	return broken.MetadataOf(a).DeletionTimestamp != nil
}
