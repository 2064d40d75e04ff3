// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenUpdates are servers that break the rules of this area.
func brokenUpdates() map[string]broken.Server {
	return map[string]broken.Server{
		"update-status-code": broken.That("answers 201 to objects that it changes", broken.OnAnswer(puts, func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusOK {
				a.Code = http.StatusCreated
			}
		})),
		"update-answer":   broken.That("answers changed objects without their namespace", broken.OnAnswered(puts, func(object map[string]any) { delete(broken.FieldsOf(object, "metadata"), "namespace") })),
		"update-conflict": broken.That("does not look at the resourceVersion of objects that are sent: who comes last wins", broken.KeepCurrent(puts, "resourceVersion")),
		"update-missing":  broken.That("creates objects that are not there, whatever their uid", createMissing(puts)),
		"update-name-mismatch": broken.That("changes the object that the URL names, whatever the name in the body", broken.OnBody(puts, func(r *http.Request, object map[string]any) bool {
			metadata, name := broken.FieldsOf(object, "metadata"), any(broken.PlaceOf(r).Name)
			same := metadata["name"] == name
			metadata["name"] = name
			return !same
		})),
		"update-uid":                broken.That("ignores the uid of objects that are sent", broken.KeepCurrent(puts, "uid")),
		"update-immutable-metadata": broken.That("stores the creationTimestamp of objects that are sent", broken.TakeOver(puts, "creationTimestamp")),
		"update-no-change":          broken.That("stores objects anew that have not changed", touch(puts)),
		"update-resource-version":   broken.That("answers changed objects with the resourceVersion that they had before", echoVersion(puts)),
		"update-generation":         broken.That("does not count generations", broken.InAnswers(`\bgeneration("?): ?[0-9]+`, `generation${1}: 1`)),
	}
}

// puts matches requests that change objects.
func puts(r *http.Request) bool { return broken.Storing(http.MethodPut, broken.Single)(r) }

func createMissing(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := broken.BodyOf(r)
		a := broken.Ask(next, r)
		var object map[string]any
		if a.Code == http.StatusNotFound && json.Unmarshal(body, &object) == nil {
			metadata := broken.FieldsOf(object, "metadata")
			delete(metadata, "uid")
			delete(metadata, "resourceVersion")
			a = broken.Also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+broken.PlaceOf(r).Name), broken.JSONType, object)
		}
		a.Send(w)
	})
}

// touch changes objects a little that are sent without a change.
func touch(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		before := broken.Current(next, r)
		a := broken.Ask(next, r)
		if object := broken.Current(next, r); a.OK() && before != nil && object != nil {
			metadata, version := broken.FieldsOf(object, "metadata"), broken.FieldsOf(before, "metadata")["resourceVersion"]
			if metadata["resourceVersion"] == version && metadata["deletionTimestamp"] == nil {
				broken.FieldsOf(metadata, "annotations")["example.com/stored-from"] = version
				a = broken.Also(next, r, http.MethodPut, r.URL.Path, broken.JSONType, object)
			}
		}
		a.Send(w)
	})
}

func echoVersion(match broken.Match) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := broken.Ask(next, r)
		if version := broken.FieldsOf(sent, "metadata")["resourceVersion"]; a.OK() && version != nil {
			a.Edit(func(object map[string]any) { broken.FieldsOf(object, "metadata")["resourceVersion"] = version })
		}
		a.Send(w)
	})
}
