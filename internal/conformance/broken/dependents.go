// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func dependents() []Breakage {
	return []Breakage{
		{
			Check: "dependents-collected", What: "does not keep the owners of objects that are created",
			Break: OnSentObject(Method(http.MethodPost, Collection), func(object map[string]any) {
				delete(FieldsOf(object, "metadata"), "ownerReferences")
			}),
		},
		{
			Check: "owners-collected", What: "keeps what an object owned although its deletion in the background is asked for",
			Break: ownersGo(metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan),
		},
		{
			Check: "dependents-kept", What: "lets what an object owned be removed although Orphan is asked for",
			Break: ownersGo(metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground),
		},
	}
}

// ownersGo deletes owners with another propagation policy than the one that is asked for. Owners are
// what an object of the core API names as such.
func ownersGo(asked, done metav1.DeletionPropagation) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var owners sync.Map // has the UIDs of owners
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && IsCore(r):
				var object metav1.PartialObjectMetadata
				if json.Unmarshal(BodyOf(r), &object) == nil {
					for _, reference := range object.OwnerReferences {
						owners.Store(reference.UID, nil)
					}
				}
			case r.Method == http.MethodDelete && Single(r):
				if _, isOwner := owners.Load(MetadataOf(LookUp(r, next, r.URL.Path)).UID); isOwner {
					changePolicy(r, asked, done)
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

func changePolicy(r *http.Request, asked, done metav1.DeletionPropagation) {
	var options map[string]any
	if json.Unmarshal(BodyOf(r), &options) != nil || options["propagationPolicy"] != string(asked) {
		return
	}
	options["propagationPolicy"] = done
	if data, err := json.Marshal(options); err == nil {
		SetBody(r, data)
	}
}
