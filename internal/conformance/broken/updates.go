// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"strings"
)

func updates() []Breakage {
	return []Breakage{
		{
			Check: "update-status-code", What: "answers 201 to objects that it changes",
			Break: OnAnswer(puts, func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusOK {
					a.Code = http.StatusCreated
				}
			}),
		},
		{
			Check: "update-answer", What: "answers changed objects without their namespace",
			Break: OnAnswered(puts, func(object map[string]any) { delete(FieldsOf(object, "metadata"), "namespace") }),
		},
		{
			Check: "update-conflict", What: "does not look at the resourceVersion of objects that are sent: who comes last wins",
			Break: KeepCurrent(puts, "resourceVersion"),
		},
		{
			Check: "update-missing", What: "creates objects that are not there, whatever their uid",
			Break: createMissing(puts),
		},
		{
			Check: "update-name-mismatch", What: "changes the object that the URL names, whatever the name in the body",
			Break: OnBody(puts, func(r *http.Request, object map[string]any) bool {
				metadata, name := FieldsOf(object, "metadata"), any(PlaceOf(r).Name)
				same := metadata["name"] == name
				metadata["name"] = name
				return !same
			}),
		},
		{
			Check: "update-uid", What: "ignores the uid of objects that are sent",
			Break: KeepCurrent(puts, "uid"),
		},
		{
			Check: "update-immutable-metadata", What: "stores the creationTimestamp of objects that are sent",
			Break: TakeOver(puts, "creationTimestamp"),
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
			Break: InAnswers(`\bgeneration("?): ?[0-9]+`, `generation${1}: 1`),
		},
	}
}

// puts matches requests that change objects.
func puts(r *http.Request) bool { return Storing(http.MethodPut, Single)(r) }

func createMissing(match Match) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := BodyOf(r)
		a := Ask(next, r)
		var object map[string]any
		if a.Code == http.StatusNotFound && json.Unmarshal(body, &object) == nil {
			metadata := FieldsOf(object, "metadata")
			delete(metadata, "uid")
			delete(metadata, "resourceVersion")
			a = Also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+PlaceOf(r).Name), "application/json", object)
		}
		a.Send(w)
	})
}

// touch changes objects a little that are sent without a change.
func touch(match Match) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		before := Current(next, r)
		a := Ask(next, r)
		if object := Current(next, r); a.OK() && before != nil && object != nil {
			metadata, version := FieldsOf(object, "metadata"), FieldsOf(before, "metadata")["resourceVersion"]
			if metadata["resourceVersion"] == version && metadata["deletionTimestamp"] == nil {
				FieldsOf(metadata, "annotations")["example.com/stored-from"] = version
				a = Also(next, r, http.MethodPut, r.URL.Path, "application/json", object)
			}
		}
		a.Send(w)
	})
}

func echoVersion(match Match) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := Ask(next, r)
		if version := FieldsOf(sent, "metadata")["resourceVersion"]; a.OK() && version != nil {
			a.Edit(func(object map[string]any) { FieldsOf(object, "metadata")["resourceVersion"] = version })
		}
		a.Send(w)
	})
}
