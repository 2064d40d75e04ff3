// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespaces() []Breakage {
	creation := method(http.MethodPost, collection)
	return []Breakage{
		{
			Check: "namespace-missing", What: "takes it for an error of its own that a namespace does not exist",
			Break: onAnswer(creation, func(_ *http.Request, a *answer) {
				var status metav1.Status
				if a.code == http.StatusNotFound && json.Unmarshal(a.body, &status) == nil && status.Details != nil && status.Details.Kind == "namespaces" {
					a.status(http.StatusInternalServerError, string(metav1.StatusReasonInternalError), "Internal error occurred: the namespace can't be read: not found")
				}
			}),
		},
		{
			Check: "namespace-terminating", What: "refuses to create in a namespace that is being deleted, but does not say why",
			Break: onAnswer(creation, func(_ *http.Request, a *answer) {
				if a.code == http.StatusForbidden {
					a.edit(func(status map[string]any) { delete(fieldsOf(status, "details"), "causes") })
				}
			}),
		},
		{Check: "namespace-deletion", What: "has the objects of a namespace still when the namespace is deleted", Break: outlive},
		{
			// The controller that counts asks the server behind the proxy. What it would have found here is nothing.
			Check: "quota-counted", What: "has objects that the controller of quotas does not see",
			Break: onAnswered(method(http.MethodGet, isQuota), func(quota map[string]any) {
				used := fieldsOf(fieldsOf(quota, "status"), "used")
				for key := range used {
					if strings.HasPrefix(key, "count/") && strings.Contains(key, ".") {
						used[key] = "0"
					}
				}
			}),
		},
		{
			Check: "quota-enforced", What: "creates objects that a quota does not allow",
			Break: instead(creation, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				sent := bodyOf(r)
				a := ask(next, r)
				if a.code == http.StatusForbidden && strings.Contains(string(a.body), "exceeded quota") {
					a.code, a.body = http.StatusCreated, sent
				}
				a.send(w)
			}),
		},
	}
}

// isQuota matches requests about a ResourceQuota.
func isQuota(r *http.Request) bool {
	p := placeOf(r)
	return p != nil && isCore(r) && p.resource == "resourcequotas" && p.name != ""
}

// outlive goes on to show objects as they were last seen when their namespace is being deleted.
func outlive(next http.Handler) http.Handler {
	var seen sync.Map // of answers by path and media type
	return instead(method(http.MethodGet, single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.URL.Path + " " + r.Header.Get("Accept")
		a := ask(next, r)
		switch {
		case a.ok():
			seen.Store(key, a)
		case a.code == http.StatusNotFound && ending(r, next):
			if last, ok := seen.Load(key); ok {
				a = last.(*answer) //nolint:forcetypeassert // Nothing else is in it.
			}
		}
		a.send(w)
	})(next)
}

// ending tells whether the namespace of an object is being deleted, or does not exist.
func ending(r *http.Request, next http.Handler) bool {
	p := placeOf(r)
	if p.namespace == "" {
		return false
	}
	a := lookUp(r, next, "/api/v1/namespaces/"+p.namespace)
	if !a.ok() {
		return a.code == http.StatusNotFound
	}
	return metadataOf(a).DeletionTimestamp != nil
}

// lookUp gets something else in the name of who sends a request.
func lookUp(r *http.Request, next http.Handler, path string) *answer {
	look := r.Clone(r.Context())
	look.Method, look.Body, look.ContentLength = http.MethodGet, http.NoBody, 0
	look.URL.Path, look.URL.RawPath, look.URL.RawQuery = path, "", ""
	look.Header.Del("Content-Type")
	look.Header.Del("Content-Length")
	look.Header.Set("Accept", "application/json")
	return ask(next, look)
}

// metadataOf returns that of the object that an answer is.
func metadataOf(a *answer) metav1.ObjectMeta {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(a.body, &object) != nil {
		return metav1.ObjectMeta{}
	}
	return object.ObjectMeta
}
