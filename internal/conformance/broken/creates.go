// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

func creates() []Breakage {
	return slices.Concat(createsDone(), createsRefused())
}

func createsDone() []Breakage {
	return []Breakage{
		{
			Check: "create-status-code", What: "answers 200 to objects that it creates",
			Break: OnAnswer(posts, func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusCreated {
					a.Code = http.StatusOK
				}
			}),
		},
		{
			Check: "create-answer", What: "answers new objects without their kind and apiVersion",
			Break: OnAnswered(posts, withoutKind),
		},
		{
			Check: "create-metadata", What: "gives all objects the same creationTimestamp",
			Break: InAnswers(`creationTimestamp("?: ?)"[^"]*"`, `creationTimestamp${1}"1970-01-01T00:00:00Z"`),
		},
		{
			Check: "create-read-only-metadata", What: "takes the creationTimestamps of new objects from clients",
			Break: TakeOver(posts, "creationTimestamp"),
		},
		{
			Check: "create-generate-name", What: "does not know metadata.generateName",
			Break: OnBody(posts, func(r *http.Request, object map[string]any) bool {
				metadata := FieldsOf(object, "metadata")
				known := metadata["generateName"] == nil
				delete(metadata, "generateName")
				return !known
			}),
		},
		{
			Check: "create-without-namespace", What: "wants new objects to have a namespace",
			Break: Instead(posts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				var object map[string]any
				if json.Unmarshal(BodyOf(r), &object) != nil || FieldsOf(object, "metadata")["namespace"] != nil {
					next.ServeHTTP(w, r)
					return
				}
				a := &Answer{Header: http.Header{}}
				a.Status(http.StatusBadRequest, "BadRequest", "metadata.namespace is required")
				a.Send(w)
			}),
		},
	}
}

func createsRefused() []Breakage {
	return []Breakage{
		{
			Check: "create-already-exists", What: "answers Conflict instead of AlreadyExists",
			Break: OnAnswer(posts, func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusConflict {
					a.Edit(func(status map[string]any) { status["reason"] = "Conflict" })
				}
			}),
		},
		{
			Check: "create-invalid-name", What: "answers 400 without details to names that are invalid",
			Break: OnAnswer(posts, func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusUnprocessableEntity && bytes.Contains(a.Body, []byte(`"field":"metadata.name"`)) {
					a.Status(http.StatusBadRequest, "BadRequest", "invalid name")
				}
			}),
		},
		{
			Check: "create-invalid-label", What: "leaves out labels that are invalid",
			Break: OnBody(posts, func(_ *http.Request, object map[string]any) bool {
				return dropInvalid(object, "labels", func(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 })
			}),
		},
		{
			Check: "create-invalid-annotation", What: "leaves out annotations that are invalid",
			Break: OnBody(posts, func(_ *http.Request, object map[string]any) bool {
				return dropInvalid(object, "annotations", func(string) bool { return true })
			}),
		},
		{
			Check: "create-namespace-mismatch", What: "creates objects in the namespace of the URL, whatever they say",
			Break: OnBody(posts, func(r *http.Request, object map[string]any) bool {
				metadata, namespace := FieldsOf(object, "metadata"), any(PlaceOf(r).Namespace)
				same := metadata["namespace"] == nil || metadata["namespace"] == namespace
				metadata["namespace"] = namespace
				return !same
			}),
		},
	}
}

// posts matches requests that create objects.
func posts(r *http.Request) bool { return Storing(http.MethodPost, Collection)(r) }

func withoutKind(object map[string]any) {
	delete(object, "kind")
	delete(object, "apiVersion")
}

// dropInvalid removes what is not valid from the labels or annotations of an object, and tells
// whether there was something.
func dropInvalid(object map[string]any, field string, isValid func(value string) bool) (dropped bool) {
	entries, ok := FieldsOf(object, "metadata")[field].(map[string]any)
	if !ok {
		return false
	}
	for key, value := range entries {
		text, isText := value.(string)
		if isText && (len(validation.IsQualifiedName(key)) > 0 || !isValid(text)) {
			delete(entries, key)
			dropped = true
		}
	}
	return dropped
}
