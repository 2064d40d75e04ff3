// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"strings"
)

func updates() []Breakage {
	puts := storing(http.MethodPut, single)
	return []Breakage{
		{
			Check: "update-status-code", What: "answers 201 to objects that it changes",
			Break: onAnswer(puts, func(_ *http.Request, a *answer) {
				if a.code == http.StatusOK {
					a.code = http.StatusCreated
				}
			}),
		},
		{
			Check: "update-answer", What: "answers changed objects without their namespace",
			Break: onAnswered(puts, func(object map[string]any) { delete(fieldsOf(object, "metadata"), "namespace") }),
		},
		{
			Check: "update-conflict", What: "does not look at the resourceVersion of objects that are sent: who comes last wins",
			Break: keepCurrent(puts, "resourceVersion"),
		},
		{
			Check: "update-missing", What: "creates objects that are not there, whatever their uid",
			Break: createMissing(puts),
		},
		{
			Check: "update-name-mismatch", What: "changes the object that the URL names, whatever the name in the body",
			Break: onBody(puts, func(r *http.Request, object map[string]any) bool {
				metadata, name := fieldsOf(object, "metadata"), any(placeOf(r).name)
				same := metadata["name"] == name
				metadata["name"] = name
				return !same
			}),
		},
		{
			Check: "update-uid", What: "ignores the uid of objects that are sent",
			Break: keepCurrent(puts, "uid"),
		},
		{
			Check: "update-immutable-metadata", What: "stores the creationTimestamp of objects that are sent",
			Break: takeOver(puts, "creationTimestamp"),
		},
		{
			Check: "update-no-change", What: "stores objects anew that have not changed",
			Break: touch(puts),
		},
		{
			Check: "update-resource-version", What: "answers changed objects with the resourceVersion that they had before",
			Break: echoVersion(puts),
		},
		{
			Check: "update-generation", What: "does not count generations",
			Break: inAnswers(`\bgeneration("?): ?[0-9]+`, `generation${1}: 1`),
		},
	}
}

// pathOf returns the path of the object that a request is about.
func pathOf(r *http.Request) string {
	return strings.TrimSuffix(r.URL.Path, "/"+placeOf(r).subresource)
}

// current returns an object as the server has it; nil if it has not.
func current(next http.Handler, r *http.Request) map[string]any {
	a := also(next, r, http.MethodGet, pathOf(r), "", nil)
	if !a.ok() {
		return nil
	}
	return a.object()
}

// keepCurrent has requests bring that value of a field of the metadata that the object has.
func keepCurrent(match Match, field string) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if object := current(next, r); object != nil {
			onBody(match, func(_ *http.Request, sent map[string]any) bool {
				metadata, value := fieldsOf(sent, "metadata"), fieldsOf(object, "metadata")[field]
				same := metadata[field] == nil || metadata[field] == value
				metadata[field] = value
				return !same
			})(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func createMissing(match Match) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := bodyOf(r)
		a := ask(next, r)
		var object map[string]any
		if a.code == http.StatusNotFound && json.Unmarshal(body, &object) == nil {
			metadata := fieldsOf(object, "metadata")
			delete(metadata, "uid")
			delete(metadata, "resourceVersion")
			a = also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+placeOf(r).name), "application/json", object)
		}
		a.send(w)
	})
}

// touch changes objects a little that are sent without a change.
func touch(match Match) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		before := current(next, r)
		a := ask(next, r)
		if object := current(next, r); a.ok() && before != nil && object != nil {
			metadata, version := fieldsOf(object, "metadata"), fieldsOf(before, "metadata")["resourceVersion"]
			if metadata["resourceVersion"] == version && metadata["deletionTimestamp"] == nil {
				fieldsOf(metadata, "annotations")["example.com/stored-from"] = version
				a = also(next, r, http.MethodPut, r.URL.Path, "application/json", object)
			}
		}
		a.send(w)
	})
}

func echoVersion(match Match) func(http.Handler) http.Handler {
	return instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(bodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := ask(next, r)
		if version := fieldsOf(sent, "metadata")["resourceVersion"]; a.ok() && version != nil {
			a.edit(func(object map[string]any) { fieldsOf(object, "metadata")["resourceVersion"] = version })
		}
		a.send(w)
	})
}
