// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenPatches are servers that break the rules of this area.
func brokenPatches() map[string]broken.Server {
	return map[string]broken.Server{
		"patch-json": broken.That("leaves out the operation remove of JSON patches", onOperations(func(operation string) bool { return operation != "remove" })),
		"patch-merge": broken.That("does not remove labels and annotations that are null in a merge patch", broken.OnSentObject(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.MergePatch)), func(patch map[string]any) {
			for _, name := range []string{"labels", "annotations"} {
				dropNulls(patch, "metadata", name)
			}
		})),
		"patch-strategic":   broken.That("takes strategic merge patches for merge patches", broken.OnRequest(broken.Method(http.MethodPatch, broken.Sends(broken.StrategicPatch)), func(r *http.Request) { r.Header.Set("Content-Type", broken.MergePatch) })),
		"patch-failed-test": broken.That("leaves out the tests of JSON patches", onOperations(func(operation string) bool { return operation != "test" })),
		"patch-malformed": broken.That("answers 500 to patches that are no JSON", broken.Instead(broken.Method(http.MethodPatch, broken.Sends(broken.MergePatch, broken.JSONPatch)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if json.Valid(broken.BodyOf(r)) {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
		})),
		"patch-media-type": broken.That("takes patches of unknown types for merge patches", broken.OnRequest(broken.Method(http.MethodPatch), func(r *http.Request) {
			if !broken.Sends(broken.JSONPatch, broken.MergePatch, broken.StrategicPatch, broken.ApplyPatch)(r) {
				r.Header.Set("Content-Type", broken.MergePatch)
			}
		})),
		"patch-missing": broken.That("answers 500 to patches of what does not exist", broken.OnAnswer(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.JSONPatch, broken.MergePatch, broken.StrategicPatch)), func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusNotFound {
				a.Status(http.StatusInternalServerError, "InternalError", "no such row")
			}
		})),
		"patch-conflict": broken.That("does not look at the resourceVersion in a merge patch", broken.OnSentObject(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.MergePatch)), func(patch map[string]any) {
			if metadata, ok := patch["metadata"].(map[string]any); ok {
				delete(metadata, "resourceVersion")
			}
		})),
	}
}

// onOperations keeps of JSON patches the operations that are wanted.
func onOperations(wanted func(operation string) bool) func(http.Handler) http.Handler {
	return broken.OnRequest(broken.Method(http.MethodPatch, broken.Sends(broken.JSONPatch)), func(r *http.Request) {
		var operations []map[string]any
		if json.Unmarshal(broken.BodyOf(r), &operations) != nil {
			return
		}
		kept := slices.DeleteFunc(operations, func(operation map[string]any) bool {
			name, ok := operation["op"].(string)
			return ok && !wanted(name)
		})
		if data, err := json.Marshal(kept); err == nil {
			broken.SetBody(r, data)
		}
	})
}

// dropNulls takes the fields that are null out of an object in an object.
func dropNulls(object map[string]any, path ...string) {
	for _, name := range path {
		fields, ok := object[name].(map[string]any)
		if !ok {
			return
		}
		object = fields
	}
	for name, value := range object {
		if value == nil {
			delete(object, name)
		}
	}
}
