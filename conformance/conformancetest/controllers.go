// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
)

// NeedControllers returns the servers, by the identifiers of the checks that fail there, whose rules apply only
// where the garbage collector and the quota controller of Kubernetes run.
func NeedControllers() map[string]broken.Server {
	return map[string]broken.Server{
		"dependents-collected": broken.That("does not keep the owners of objects that are created", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection), func(object map[string]any) {
			delete(broken.FieldsOf(object, "metadata"), "ownerReferences")
		})),
		"owners-collected": broken.That("keeps what an object owned although its deletion in the background is asked for", ownersGo(metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan)),
		"dependents-kept":  broken.That("lets what an object owned be removed although Orphan is asked for", ownersGo(metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground)),
		"quota-counted": broken.That("has objects that the controller of quotas does not see", broken.OnAnswered(broken.Method(http.MethodGet, isQuota), func(quota map[string]any) {
			used := broken.FieldsOf(broken.FieldsOf(quota, "status"), "used")
			for key := range used {
				if strings.HasPrefix(key, "count/") && strings.Contains(key, ".") {
					used[key] = "0"
				}
			}
		})),
		"quota-enforced": broken.That("creates objects that a quota does not allow", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			sent := broken.BodyOf(r)
			a := broken.Ask(next, r)
			if a.Code == http.StatusForbidden && strings.Contains(string(a.Body), "exceeded quota") {
				a.Code, a.Body = http.StatusCreated, sent
			}
			a.Send(w)
		})),
	}
}

// ownersGo deletes owners with another propagation policy than the one that is asked for. Owners are
// what an object of the core API names as such.
func ownersGo(requested, done metav1.DeletionPropagation) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var owners sync.Map // has the UIDs of owners
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && broken.IsCore(r):
				var object metav1.PartialObjectMetadata
				if json.Unmarshal(broken.BodyOf(r), &object) == nil {
					for _, reference := range object.OwnerReferences {
						owners.Store(reference.UID, nil)
					}
				}
			case r.Method == http.MethodDelete && broken.Single(r):
				if _, isOwner := owners.Load(broken.MetadataOf(broken.Also(next, r, http.MethodGet, "", "", nil)).UID); isOwner {
					changePolicy(r, requested, done)
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

func changePolicy(r *http.Request, requested, done metav1.DeletionPropagation) {
	var options map[string]any
	if json.Unmarshal(broken.BodyOf(r), &options) != nil || options["propagationPolicy"] != string(requested) {
		return
	}
	options["propagationPolicy"] = done
	if data, err := json.Marshal(options); err == nil {
		broken.SetBody(r, data)
	}
}

// isQuota matches requests about a ResourceQuota.
func isQuota(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && broken.IsCore(r) && p.Resource == "resourcequotas" && p.Name != ""
}
