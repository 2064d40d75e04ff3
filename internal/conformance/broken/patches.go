// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"slices"
)

func patches() []Breakage {
	return []Breakage{
		{
			Check: "patch-json", What: "leaves out the operation remove of JSON patches",
			Break: onOperations(func(operation string) bool { return operation != "remove" }),
		},
		{
			Check: "patch-merge", What: "does not remove labels and annotations that are null in a merge patch",
			Break: OnSentObject(Method(http.MethodPatch, Single, Sends(MergePatch)), func(patch map[string]any) {
				for _, name := range []string{"labels", "annotations"} {
					dropNulls(patch, "metadata", name)
				}
			}),
		},
		{
			Check: "patch-strategic", What: "takes strategic merge patches for merge patches",
			Break: OnRequest(Method(http.MethodPatch, Sends(StrategicPatch)), func(r *http.Request) { r.Header.Set("Content-Type", MergePatch) }),
		},
		{
			Check: "patch-failed-test", What: "leaves out the tests of JSON patches",
			Break: onOperations(func(operation string) bool { return operation != "test" }),
		},
		{
			Check: "patch-malformed", What: "answers 500 to patches that are no JSON",
			Break: Instead(Method(http.MethodPatch, Sends(MergePatch, JSONPatch)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if json.Valid(BodyOf(r)) {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
			}),
		},
		{
			Check: "patch-media-type", What: "takes patches of unknown types for merge patches",
			Break: OnRequest(Method(http.MethodPatch), func(r *http.Request) {
				if !Sends(JSONPatch, MergePatch, StrategicPatch, ApplyPatch)(r) {
					r.Header.Set("Content-Type", MergePatch)
				}
			}),
		},
		{
			Check: "patch-missing", What: "answers 500 to patches of what does not exist",
			Break: OnAnswer(Method(http.MethodPatch, Single, Sends(JSONPatch, MergePatch, StrategicPatch)), func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusNotFound {
					a.Status(http.StatusInternalServerError, "InternalError", "no such row")
				}
			}),
		},
		{
			Check: "patch-conflict", What: "does not look at the resourceVersion in a merge patch",
			Break: OnSentObject(Method(http.MethodPatch, Single, Sends(MergePatch)), func(patch map[string]any) {
				if metadata, ok := patch["metadata"].(map[string]any); ok {
					delete(metadata, "resourceVersion")
				}
			}),
		},
	}
}

// onOperations keeps of JSON patches the operations that are wanted.
func onOperations(wanted func(operation string) bool) func(http.Handler) http.Handler {
	return OnRequest(Method(http.MethodPatch, Sends(JSONPatch)), func(r *http.Request) {
		var operations []map[string]any
		if json.Unmarshal(BodyOf(r), &operations) != nil {
			return
		}
		kept := slices.DeleteFunc(operations, func(operation map[string]any) bool {
			name, ok := operation["op"].(string)
			return ok && !wanted(name)
		})
		if data, err := json.Marshal(kept); err == nil {
			SetBody(r, data)
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
