// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

func deletes() []Breakage { return slices.Concat(deletesOfOne(), deletesOfHeld(), deletesOfMany()) }

func deletesOfOne() []Breakage {
	return []Breakage{
		{
			Check: "delete-removes", What: "does nothing when an object is deleted without options, and says that it has",
			Break: Instead(Method(http.MethodDelete, Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if len(BodyOf(r)) > 0 || r.URL.RawQuery != "" {
					next.ServeHTTP(w, r)
					return
				}
				a := &Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
				a.Set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
				a.Send(w)
			}),
		},
		{
			Check: "delete-missing", What: "answers 200 when what does not exist is deleted",
			Break: OnAnswer(Method(http.MethodDelete, Single), func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusNotFound {
					a.Code = http.StatusOK
					a.Set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
				}
			}),
		},
		{
			Check: "delete-answer", What: "answers DELETE with an object that has no kind",
			Break: OnAnswered(And(Method(http.MethodDelete), Single, isReal), func(object map[string]any) { clear(object) }),
		},
		{
			Check: "delete-uid-precondition", What: "ignores preconditions.uid",
			Break: OnSentObject(Method(http.MethodDelete, Single), withoutPrecondition("uid")),
		},
		{
			Check: "delete-version-precondition", What: "ignores preconditions.resourceVersion",
			Break: OnSentObject(Method(http.MethodDelete, Single), withoutPrecondition("resourceVersion")),
		},
		{
			Check: "delete-propagation-unknown", What: "takes a propagationPolicy that it does not know for the default",
			Break: OnSentObject(Method(http.MethodDelete, Single), func(options map[string]any) {
				if !slices.Contains([]any{nil, "Orphan", "Background", "Foreground"}, options["propagationPolicy"]) {
					delete(options, "propagationPolicy")
				}
			}),
		},
	}
}

// isReal matches requests that are no dry runs.
func isReal(r *http.Request) bool {
	var options map[string]any
	return !r.URL.Query().Has("dryRun") && (json.Unmarshal(BodyOf(r), &options) != nil || options["dryRun"] == nil)
}

func withoutPrecondition(name string) func(options map[string]any) {
	return func(options map[string]any) {
		if preconditions, ok := options["preconditions"].(map[string]any); ok {
			delete(preconditions, name)
		}
	}
}

func deletesOfMany() []Breakage {
	many := Method(http.MethodDelete, Collection)
	return []Breakage{
		{
			Check: "deletecollection-selector", What: "ignores the fieldSelector when it deletes a collection",
			Break: OnRequest(many, func(r *http.Request) {
				if strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=") {
					SetQuery(r, "fieldSelector", "")
				}
			}),
		},
		{
			Check: "deletecollection-selector-invalid", What: "deletes everything if it does not know the field of the fieldSelector",
			Break: AgainIf(many, IsBadRequest, "fieldSelector"),
		},
		{
			Check: "deletecollection-dry-run", What: "ignores dryRun in the body when it deletes a collection",
			Break: OnSentObject(many, func(options map[string]any) { delete(options, "dryRun") }),
		},
		{
			Check: "deletecollection-answer", What: "answers DELETE of a collection with a number",
			Break: OnAnswered(And(Method(http.MethodDelete), Collection, isReal), func(object map[string]any) {
				items, _ := object["items"].([]any)
				clear(object)
				object["deleted"] = len(items)
			}),
		},
	}
}
