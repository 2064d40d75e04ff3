// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenApplies are servers that break the rules of this area.
func brokenApplies() map[string]broken.Server {
	return map[string]broken.Server{
		"apply-creates": broken.That("answers 404 to an apply of what does not exist", broken.Instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if before := broken.Also(next, r, http.MethodGet, "", "", nil); before.Code == http.StatusNotFound {
				before.Send(w)
				return
			}
			next.ServeHTTP(w, r)
		})),
		"apply-managed-fields": broken.That("shows applied fields as updated ones", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single), func(object map[string]any) {
			entries, _ := broken.FieldsOf(object, "metadata")["managedFields"].([]any)
			for _, one := range entries {
				if entry, ok := one.(map[string]any); ok && entry["operation"] == "Apply" {
					entry["operation"] = "Update"
				}
			}
		})),
		"update-managed-fields": broken.That("does not look at the fieldManager of POST and PUT", broken.WithoutQuery(func(r *http.Request) bool {
			return r.Method == http.MethodPost || r.Method == http.MethodPut
		}, "fieldManager")),
		"apply-conflict":      broken.That("forces every apply", broken.OnRequest(applying, func(r *http.Request) { broken.SetQuery(r, "force", "true") })),
		"apply-force":         broken.That("does not look at force", broken.WithoutQuery(applying, "force")),
		"apply-removes":       broken.That("keeps labels and annotations that are not applied any more", broken.Instead(applying, keepApplied)),
		"apply-needs-manager": broken.That("has a name for managers without one", broken.OnRequest(broken.And(applying, broken.QueryIs("fieldManager", "")), func(r *http.Request) { broken.SetQuery(r, "fieldManager", "unknown") })),
		"apply-no-change": broken.That("notes when an object was last applied", func(next http.Handler) http.Handler {
			var count atomic.Int64
			return broken.Instead(applying, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				a := broken.Ask(next, r)
				if a.OK() && !broken.HasQuery("dryRun")(r) {
					a = annotate(next, r, map[string]any{"last-applied": strconv.FormatInt(count.Add(1), 10)})
				}
				a.Send(w)
			})(next)
		}),
	}
}

// applying matches server-side applies.
func applying(r *http.Request) bool {
	return r.Method == http.MethodPatch && broken.Single(r) && broken.Sends(broken.ApplyPatch)(r)
}

// keepApplied puts back what an apply has removed from the metadata.
func keepApplied(w http.ResponseWriter, r *http.Request, next http.Handler) {
	before := broken.Also(next, r, http.MethodGet, "", "", nil)
	a := broken.Ask(next, r)
	if !before.OK() || !a.OK() || broken.HasQuery("dryRun")(r) {
		a.Send(w)
		return
	}
	old, now := before.Object(), a.Object()
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		for key, value := range broken.FieldsOf(broken.FieldsOf(old, "metadata"), name) {
			if _, has := broken.FieldsOf(broken.FieldsOf(now, "metadata"), name)[key]; !has {
				broken.FieldsOf(kept, name)[key] = value
			}
		}
	}
	if len(kept) > 0 {
		a = broken.Also(next, r, http.MethodPatch, "", broken.MergePatch, map[string]any{"metadata": kept})
	}
	a.Send(w)
}

// annotate sets annotations of the object that a request is about, and returns the answer.
func annotate(next http.Handler, r *http.Request, annotations map[string]any) *broken.Answer {
	return broken.Also(next, r, http.MethodPatch, "", broken.MergePatch, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}
