// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"strconv"
	"sync/atomic"
)

func applies() []Breakage {
	return []Breakage{
		{
			Check: "apply-creates", What: "answers 404 to an apply of what does not exist",
			Break: Instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if before := Also(next, r, http.MethodGet, "", "", nil); before.Code == http.StatusNotFound {
					before.Send(w)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			Check: "apply-managed-fields", What: "shows applied fields as updated ones",
			Break: OnAnswered(Method(http.MethodGet, Single), func(object map[string]any) {
				entries, _ := FieldsOf(object, "metadata")["managedFields"].([]any)
				for _, one := range entries {
					if entry, ok := one.(map[string]any); ok && entry["operation"] == "Apply" {
						entry["operation"] = "Update"
					}
				}
			}),
		},
		{
			Check: "update-managed-fields", What: "does not look at the fieldManager of POST and PUT",
			Break: WithoutQuery(func(r *http.Request) bool {
				return r.Method == http.MethodPost || r.Method == http.MethodPut
			}, "fieldManager"),
		},
		{
			Check: "apply-conflict", What: "forces every apply",
			Break: OnRequest(applying, func(r *http.Request) { SetQuery(r, "force", "true") }),
		},
		{
			Check: "apply-force", What: "does not look at force",
			Break: WithoutQuery(applying, "force"),
		},
		{
			Check: "apply-removes", What: "keeps labels and annotations that are not applied any more",
			Break: Instead(applying, keepApplied),
		},
		{
			Check: "apply-needs-manager", What: "has a name for managers without one",
			Break: OnRequest(And(applying, QueryIs("fieldManager", "")), func(r *http.Request) { SetQuery(r, "fieldManager", "unknown") }),
		},
		{
			Check: "apply-no-change", What: "notes when an object was last applied",
			Break: func(next http.Handler) http.Handler {
				var count atomic.Int64
				return Instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					a := Ask(next, r)
					if a.OK() && !HasQuery("dryRun")(r) {
						a = annotate(next, r, map[string]any{"last-applied": strconv.FormatInt(count.Add(1), 10)})
					}
					a.Send(w)
				})(next)
			},
		},
	}
}

// applying matches server-side applies.
func applying(r *http.Request) bool {
	return r.Method == http.MethodPatch && Single(r) && Sends(ApplyPatch)(r)
}

// annotate sets annotations of the object that a request is about, and returns the answer.
func annotate(next http.Handler, r *http.Request, annotations map[string]any) *Answer {
	return Also(next, r, http.MethodPatch, "", MergePatch, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// keepApplied puts back what an apply has removed from the metadata.
func keepApplied(w http.ResponseWriter, r *http.Request, next http.Handler) {
	before := Also(next, r, http.MethodGet, "", "", nil)
	a := Ask(next, r)
	if !before.OK() || !a.OK() || HasQuery("dryRun")(r) {
		a.Send(w)
		return
	}
	old, now := before.Object(), a.Object()
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		for key, value := range FieldsOf(FieldsOf(old, "metadata"), name) {
			if _, has := FieldsOf(FieldsOf(now, "metadata"), name)[key]; !has {
				FieldsOf(kept, name)[key] = value
			}
		}
	}
	if len(kept) > 0 {
		a = Also(next, r, http.MethodPatch, "", MergePatch, map[string]any{"metadata": kept})
	}
	a.Send(w)
}
