// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

func creates() []Breakage {
	posts := storing(http.MethodPost, collection)
	return slices.Concat(createsDone(posts), createsRefused(posts))
}

func createsDone(posts Match) []Breakage {
	return []Breakage{
		{
			Check: "create-status-code", What: "answers 200 to objects that it creates",
			Break: onAnswer(posts, func(_ *http.Request, a *answer) {
				if a.code == http.StatusCreated {
					a.code = http.StatusOK
				}
			}),
		},
		{
			Check: "create-answer", What: "answers new objects without their kind and apiVersion",
			Break: onAnswered(posts, withoutKind),
		},
		{
			Check: "create-metadata", What: "gives all objects the same creationTimestamp",
			Break: inAnswers(`creationTimestamp("?: ?)"[^"]*"`, `creationTimestamp${1}"1970-01-01T00:00:00Z"`),
		},
		{
			Check: "create-read-only-metadata", What: "takes the creationTimestamps of new objects from clients",
			Break: takeOver(posts, "creationTimestamp"),
		},
		{
			Check: "create-generate-name", What: "does not know metadata.generateName",
			Break: onBody(posts, func(r *http.Request, object map[string]any) bool {
				metadata := fieldsOf(object, "metadata")
				known := metadata["generateName"] == nil
				delete(metadata, "generateName")
				return !known
			}),
		},
		{
			Check: "create-without-namespace", What: "wants new objects to have a namespace",
			Break: instead(posts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				var object map[string]any
				if json.Unmarshal(bodyOf(r), &object) != nil || fieldsOf(object, "metadata")["namespace"] != nil {
					next.ServeHTTP(w, r)
					return
				}
				a := &answer{header: http.Header{}}
				a.status(http.StatusBadRequest, "BadRequest", "metadata.namespace is required")
				a.send(w)
			}),
		},
	}
}

func createsRefused(posts Match) []Breakage {
	return []Breakage{
		{
			Check: "create-already-exists", What: "answers Conflict instead of AlreadyExists",
			Break: onAnswer(posts, func(_ *http.Request, a *answer) {
				if a.code == http.StatusConflict {
					a.edit(func(status map[string]any) { status["reason"] = "Conflict" })
				}
			}),
		},
		{
			Check: "create-invalid-name", What: "answers 400 without details to names that are invalid",
			Break: onAnswer(posts, func(_ *http.Request, a *answer) {
				if a.code == http.StatusUnprocessableEntity && bytes.Contains(a.body, []byte(`"field":"metadata.name"`)) {
					a.status(http.StatusBadRequest, "BadRequest", "invalid name")
				}
			}),
		},
		{
			Check: "create-invalid-label", What: "leaves out labels that are invalid",
			Break: onBody(posts, func(_ *http.Request, object map[string]any) bool {
				return dropInvalid(object, "labels", func(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 })
			}),
		},
		{
			Check: "create-invalid-annotation", What: "leaves out annotations that are invalid",
			Break: onBody(posts, func(_ *http.Request, object map[string]any) bool {
				return dropInvalid(object, "annotations", func(string) bool { return true })
			}),
		},
		{
			Check: "create-namespace-mismatch", What: "creates objects in the namespace of the URL, whatever they say",
			Break: onBody(posts, func(r *http.Request, object map[string]any) bool {
				metadata, namespace := fieldsOf(object, "metadata"), any(placeOf(r).namespace)
				same := metadata["namespace"] == nil || metadata["namespace"] == namespace
				metadata["namespace"] = namespace
				return !same
			}),
		},
	}
}

// storing matches writing requests that are not dry runs.
func storing(verb string, match Match) Match {
	return method(verb, match, func(r *http.Request) bool { return !hasQuery("dryRun")(r) })
}

// asObject matches GET requests that want neither Tables nor the like.
func asObject(match Match) Match {
	return method(http.MethodGet, match, func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") })
}

func withoutKind(object map[string]any) {
	delete(object, "kind")
	delete(object, "apiVersion")
}

// dropInvalid removes what is not valid from the labels or annotations of an object, and tells
// whether there was something.
func dropInvalid(object map[string]any, field string, isValid func(value string) bool) (dropped bool) {
	entries, ok := fieldsOf(object, "metadata")[field].(map[string]any)
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

// onBody has edit change the JSON objects that requests bring. Others stay as they are to the byte:
// there are checks of what can't be seen any more in a body that has been read.
func onBody(match Match, edit func(*http.Request, map[string]any) (changed bool)) func(http.Handler) http.Handler {
	return onRequest(match, func(r *http.Request) {
		var object map[string]any
		if json.Unmarshal(bodyOf(r), &object) != nil || object == nil || !edit(r, object) {
			return
		}
		if data, err := json.Marshal(object); err == nil {
			setBody(r, data)
		}
	})
}

// inAnswers replaces what matches an expression in all that is answered, be it JSON or YAML.
func inAnswers(expression, replacement string) func(http.Handler) http.Handler {
	pattern := regexp.MustCompile(expression)
	streams := func(r *http.Request) bool { return watching(r) && placeOf(r) != nil && !isCore(r) }
	others := func(r *http.Request) bool { return !watching(r) && placeOf(r) != nil && !isCore(r) }
	events := onEvents(streams, func(*http.Request) func(map[string]any) []map[string]any {
		return func(event map[string]any) []map[string]any {
			var changed map[string]any
			data, err := json.Marshal(event)
			if err != nil || json.Unmarshal(pattern.ReplaceAll(data, []byte(replacement)), &changed) != nil {
				return []map[string]any{event}
			}
			return []map[string]any{changed}
		}
	})
	answers := onAnswer(others, func(_ *http.Request, a *answer) { a.body = pattern.ReplaceAll(a.body, []byte(replacement)) })
	return func(next http.Handler) http.Handler { return events(answers(next)) }
}

// takeOver breaks servers so that they store a field of the metadata that clients send.
func takeOver(writes Match, field string) func(http.Handler) http.Handler {
	var mu sync.Mutex
	taken := map[string]any{}
	return func(next http.Handler) http.Handler {
		showing := onAnswer(asObject(single), func(r *http.Request, a *answer) {
			mu.Lock()
			defer mu.Unlock()
			if value := taken[r.URL.Path]; value != nil && a.ok() {
				a.edit(func(object map[string]any) { fieldsOf(object, "metadata")[field] = value })
			}
		})(next)
		return instead(writes, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			var object map[string]any
			json.Unmarshal(bodyOf(r), &object) //nolint:errcheck // The server says so.
			a := ask(next, r)
			if sent, ok := object["metadata"].(map[string]any); ok && a.ok() {
				path := r.URL.Path
				if name, ok := sent["name"].(string); ok && !single(r) {
					path += "/" + name
				}
				mu.Lock()
				taken[path] = sent[field]
				mu.Unlock()
			}
			a.send(w)
		})(showing)
	}
}
