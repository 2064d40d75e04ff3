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
	creation := Method(http.MethodPost, Collection)
	return []Breakage{
		{
			Check: "namespace-missing", What: "takes it for an error of its own that a namespace does not exist",
			Break: OnAnswer(creation, func(_ *http.Request, a *Answer) {
				var status metav1.Status
				if a.Code == http.StatusNotFound && json.Unmarshal(a.Body, &status) == nil && status.Details != nil && status.Details.Kind == "namespaces" {
					a.Status(http.StatusInternalServerError, string(metav1.StatusReasonInternalError), "Internal error occurred: the namespace can't be read: not found")
				}
			}),
		},
		{
			Check: "namespace-terminating", What: "refuses to create in a namespace that is being deleted, but does not say why",
			Break: OnAnswer(creation, func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusForbidden {
					a.Edit(func(status map[string]any) { delete(FieldsOf(status, "details"), "causes") })
				}
			}),
		},
		{Check: "namespace-deletion", What: "has the objects of a namespace still when the namespace is deleted", Break: outlive},
		{
			// The controller that counts asks the server behind the proxy. What it would have found here is nothing.
			Check: "quota-counted", What: "has objects that the controller of quotas does not see",
			Break: OnAnswered(Method(http.MethodGet, isQuota), func(quota map[string]any) {
				used := FieldsOf(FieldsOf(quota, "status"), "used")
				for key := range used {
					if strings.HasPrefix(key, "count/") && strings.Contains(key, ".") {
						used[key] = "0"
					}
				}
			}),
		},
		{
			Check: "quota-enforced", What: "creates objects that a quota does not allow",
			Break: Instead(creation, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				sent := BodyOf(r)
				a := Ask(next, r)
				if a.Code == http.StatusForbidden && strings.Contains(string(a.Body), "exceeded quota") {
					a.Code, a.Body = http.StatusCreated, sent
				}
				a.Send(w)
			}),
		},
	}
}

// isQuota matches requests about a ResourceQuota.
func isQuota(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && IsCore(r) && p.Resource == "resourcequotas" && p.Name != ""
}

// outlive goes on to show objects as they were last seen when their namespace is being deleted.
func outlive(next http.Handler) http.Handler {
	var seen sync.Map // of answers by path and media type
	return Instead(Method(http.MethodGet, Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.URL.Path + " " + r.Header.Get("Accept")
		a := Ask(next, r)
		switch {
		case a.OK():
			seen.Store(key, a)
		case a.Code == http.StatusNotFound && ending(r, next):
			if last, ok := seen.Load(key); ok {
				a = last.(*Answer) //nolint:forcetypeassert // Nothing else is in it.
			}
		}
		a.Send(w)
	})(next)
}

// ending tells whether the namespace of an object is being deleted, or does not exist.
func ending(r *http.Request, next http.Handler) bool {
	p := PlaceOf(r)
	if p.Namespace == "" {
		return false
	}
	a := LookUp(r, next, "/api/v1/namespaces/"+p.Namespace)
	if !a.OK() {
		return a.Code == http.StatusNotFound
	}
	return MetadataOf(a).DeletionTimestamp != nil
}
