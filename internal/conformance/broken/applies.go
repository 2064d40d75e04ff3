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
			Break: instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if before := also(next, r, http.MethodGet, "", "", nil); before.code == http.StatusNotFound {
					before.send(w)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			Check: "apply-managed-fields", What: "shows applied fields as updated ones",
			Break: onAnswered(method(http.MethodGet, single), func(object map[string]any) {
				entries, _ := fieldsOf(object, "metadata")["managedFields"].([]any)
				for _, one := range entries {
					if entry, ok := one.(map[string]any); ok && entry["operation"] == "Apply" {
						entry["operation"] = "Update"
					}
				}
			}),
		},
		{
			Check: "update-managed-fields", What: "does not look at the fieldManager of POST and PUT",
			Break: withoutQuery(func(r *http.Request) bool {
				return r.Method == http.MethodPost || r.Method == http.MethodPut
			}, "fieldManager"),
		},
		{
			Check: "apply-conflict", What: "forces every apply",
			Break: onRequest(applying, func(r *http.Request) { setQuery(r, "force", "true") }),
		},
		{
			Check: "apply-force", What: "does not look at force",
			Break: withoutQuery(applying, "force"),
		},
		{
			Check: "apply-removes", What: "keeps labels and annotations that are not applied any more",
			Break: instead(applying, keepApplied),
		},
		{
			Check: "apply-needs-manager", What: "has a name for managers without one",
			Break: onRequest(all(applying, queryIs("fieldManager", "")), func(r *http.Request) { setQuery(r, "fieldManager", "unknown") }),
		},
		{
			Check: "apply-no-change", What: "notes when an object was last applied",
			Break: func(next http.Handler) http.Handler {
				var count atomic.Int64
				return instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					a := ask(next, r)
					if a.ok() && !hasQuery("dryRun")(r) {
						a = annotate(next, r, map[string]any{"last-applied": strconv.FormatInt(count.Add(1), 10)})
					}
					a.send(w)
				})(next)
			},
		},
	}
}

// applying matches server-side applies.
func applying(r *http.Request) bool {
	return r.Method == http.MethodPatch && single(r) && sends(applyPatch)(r)
}

// setQuery gives a request a parameter.
func setQuery(r *http.Request, name, value string) {
	query := r.URL.Query()
	query.Set(name, value)
	r.URL.RawQuery = query.Encode()
}

// annotate sets annotations of the object that a request is about, and returns the answer.
func annotate(next http.Handler, r *http.Request, annotations map[string]any) *answer {
	return also(next, r, http.MethodPatch, "", mergePatch, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// keepApplied puts back what an apply has removed from the metadata.
func keepApplied(w http.ResponseWriter, r *http.Request, next http.Handler) {
	before := also(next, r, http.MethodGet, "", "", nil)
	a := ask(next, r)
	if !before.ok() || !a.ok() || hasQuery("dryRun")(r) {
		a.send(w)
		return
	}
	old, now := before.object(), a.object()
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		for key, value := range fieldsOf(fieldsOf(old, "metadata"), name) {
			if _, has := fieldsOf(fieldsOf(now, "metadata"), name)[key]; !has {
				fieldsOf(kept, name)[key] = value
			}
		}
	}
	if len(kept) > 0 {
		a = also(next, r, http.MethodPatch, "", mergePatch, map[string]any{"metadata": kept})
	}
	a.send(w)
}
