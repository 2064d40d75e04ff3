// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenCreates are servers that break the rules of this area.
func brokenCreates() map[string]broken.Server {
	return map[string]broken.Server{
		"create-status-code": broken.That("answers 200 to objects that it creates", broken.OnAnswer(posts, func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusCreated {
				a.Code = http.StatusOK
			}
		})),
		"create-answer":             broken.That("answers new objects without their kind and apiVersion", broken.OnAnswered(posts, withoutKind)),
		"create-metadata":           broken.That("gives all objects the same creationTimestamp", broken.InAnswers(`creationTimestamp("?: ?)"[^"]*"`, `creationTimestamp${1}"1970-01-01T00:00:00Z"`)),
		"create-read-only-metadata": broken.That("takes the creationTimestamps of new objects from clients", broken.TakeOver(posts, "creationTimestamp")),
		"create-generate-name": broken.That("does not know metadata.generateName", broken.OnBody(posts, func(r *http.Request, object map[string]any) bool {
			metadata := broken.FieldsOf(object, "metadata")
			known := metadata["generateName"] == nil
			delete(metadata, "generateName")
			return !known
		})),
		"create-without-namespace": broken.That("wants new objects to have a namespace", broken.Instead(posts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			var object map[string]any
			if json.Unmarshal(broken.BodyOf(r), &object) != nil || broken.FieldsOf(object, "metadata")["namespace"] != nil {
				next.ServeHTTP(w, r)
				return
			}
			a := &broken.Answer{Header: http.Header{}}
			a.Status(http.StatusBadRequest, "BadRequest", "metadata.namespace is required")
			a.Send(w)
		})),
		"create-already-exists": broken.That("answers Conflict instead of AlreadyExists", broken.OnAnswer(posts, func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusConflict {
				a.Edit(func(status map[string]any) { status["reason"] = "Conflict" })
			}
		})),
		"create-invalid-name": broken.That("answers 400 without details to names that are invalid", broken.OnAnswer(posts, func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusUnprocessableEntity && bytes.Contains(a.Body, []byte(`"field":"metadata.name"`)) {
				a.Status(http.StatusBadRequest, "BadRequest", "invalid name")
			}
		})),
		"create-invalid-label": broken.That("leaves out labels that are invalid", broken.OnBody(posts, func(_ *http.Request, object map[string]any) bool {
			return dropInvalid(object, "labels", func(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 })
		})),
		"create-invalid-annotation": broken.That("leaves out annotations that are invalid", broken.OnBody(posts, func(_ *http.Request, object map[string]any) bool {
			return dropInvalid(object, "annotations", func(string) bool { return true })
		})),
		"create-namespace-mismatch": broken.That("creates objects in the namespace of the URL, whatever they say", broken.OnBody(posts, func(r *http.Request, object map[string]any) bool {
			metadata, namespace := broken.FieldsOf(object, "metadata"), any(broken.PlaceOf(r).Namespace)
			same := metadata["namespace"] == nil || metadata["namespace"] == namespace
			metadata["namespace"] = namespace
			return !same
		})),
	}
}

// posts matches requests that create objects.
func posts(r *http.Request) bool { return broken.Storing(http.MethodPost, broken.Collection)(r) }

func withoutKind(object map[string]any) {
	delete(object, "kind")
	delete(object, "apiVersion")
}

// dropInvalid removes what is not valid from the labels or annotations of an object, and tells
// whether there was something.
func dropInvalid(object map[string]any, field string, isValid func(value string) bool) (dropped bool) {
	entries, ok := broken.FieldsOf(object, "metadata")[field].(map[string]any)
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
