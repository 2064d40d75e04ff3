// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenDeletes are servers that break the rules of this area.
func brokenDeletes() map[string]broken.Server {
	return map[string]broken.Server{
		"delete-removes": broken.That("does nothing when an object is deleted without options, and says that it has", broken.Instead(broken.Method(http.MethodDelete, broken.Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if len(broken.BodyOf(r)) > 0 || r.URL.RawQuery != "" {
				next.ServeHTTP(w, r)
				return
			}
			a := &broken.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {broken.JSONType}}}
			a.Set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
			a.Send(w)
		})),
		"delete-missing": broken.That("answers 200 when what does not exist is deleted", broken.OnAnswer(broken.Method(http.MethodDelete, broken.Single), func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusNotFound {
				a.Code = http.StatusOK
				a.Set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success"})
			}
		})),
		"delete-answer":               broken.That("answers DELETE with an object that has no kind", broken.OnAnswered(broken.And(broken.Method(http.MethodDelete), broken.Single, isReal), func(object map[string]any) { clear(object) })),
		"delete-uid-precondition":     broken.That("ignores preconditions.uid", broken.OnSentObject(broken.Method(http.MethodDelete, broken.Single), withoutPrecondition("uid"))),
		"delete-version-precondition": broken.That("ignores preconditions.resourceVersion", broken.OnSentObject(broken.Method(http.MethodDelete, broken.Single), withoutPrecondition("resourceVersion"))),
		"delete-propagation-unknown": broken.That("takes a propagationPolicy that it does not know for the default", broken.OnSentObject(broken.Method(http.MethodDelete, broken.Single), func(options map[string]any) {
			if !slices.Contains([]any{nil, "Orphan", "Background", "Foreground"}, options["propagationPolicy"]) {
				delete(options, "propagationPolicy")
			}
		})),
		"delete-finalizers": broken.That("deletes objects at once, whatever finalizers they have", onAsked(broken.And(broken.Method(http.MethodDelete), broken.Single, isReal), func(next http.Handler, r *http.Request) { takeFinalizers(next, r) })),
		"delete-final":      broken.That("brings back what is being deleted if a PUT has no deletionTimestamp", onAsked(broken.Method(http.MethodPut, broken.Single), resurrect)),
		"deletecollection-selector": broken.That("ignores the fieldSelector when it deletes a collection", broken.OnRequest(broken.Method(http.MethodDelete, broken.Collection), func(r *http.Request) {
			if strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=") {
				broken.SetQuery(r, "fieldSelector", "")
			}
		})),
		"deletecollection-selector-invalid": broken.That("deletes everything if it does not know the field of the fieldSelector", broken.AgainIf(broken.Method(http.MethodDelete, broken.Collection), broken.IsBadRequest, "fieldSelector")),
		"deletecollection-dry-run":          broken.That("ignores dryRun in the body when it deletes a collection", broken.OnSentObject(broken.Method(http.MethodDelete, broken.Collection), func(options map[string]any) { delete(options, "dryRun") })),
		"deletecollection-answer": broken.That("answers DELETE of a collection with a number", broken.OnAnswered(broken.And(broken.Method(http.MethodDelete), broken.Collection, isReal), func(object map[string]any) {
			items, _ := object["items"].([]any)
			clear(object)
			object["deleted"] = len(items)
		})),
		"delete-again":       broken.That("begins anew when what is being deleted is deleted again", deleteAnew),
		"delete-propagation": broken.That("knows Orphan, but not Foreground", onDeletedWith("Orphan", "orphan")),
	}
}

// isReal matches requests that are no dry runs.
func isReal(r *http.Request) bool {
	var options map[string]any
	return !r.URL.Query().Has("dryRun") && (json.Unmarshal(broken.BodyOf(r), &options) != nil || options["dryRun"] == nil)
}

func withoutPrecondition(name string) func(options map[string]any) {
	return func(options map[string]any) {
		if preconditions, ok := options["preconditions"].(map[string]any); ok {
			delete(preconditions, name)
		}
	}
}

// onAsked has do send requests of its own before one is passed on.
func onAsked(match broken.Match, do func(next http.Handler, r *http.Request)) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		do(next, r)
		next.ServeHTTP(w, r)
	})
}

// takeFinalizers takes all finalizers from the object that a request is about.
func takeFinalizers(next http.Handler, r *http.Request) {
	if object := present(next, r); object != nil && broken.FieldsOf(object, "metadata")["finalizers"] != nil {
		broken.Also(next, r, http.MethodPatch, "", broken.MergePatch, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
}

// resurrect recreates what is being deleted, as it was before, if that is what a PUT wants.
func resurrect(next http.Handler, r *http.Request) {
	var sent map[string]any
	if json.Unmarshal(broken.BodyOf(r), &sent) != nil || broken.FieldsOf(sent, "metadata")["deletionTimestamp"] != nil {
		return
	}
	object := present(next, r)
	if object == nil || broken.FieldsOf(object, "metadata")["deletionTimestamp"] == nil {
		return
	}
	takeFinalizers(next, r)
	metadata := broken.FieldsOf(object, "metadata")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"} {
		delete(metadata, field)
	}
	broken.Also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+broken.PlaceOf(r).Name), broken.JSONType, object)
}

// deleteAnew shows the time of the last deletion instead of that of the first one.
func deleteAnew(next http.Handler) http.Handler {
	var times sync.Map // by uid
	return broken.Instead(broken.Single, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch {
		case r.Method == http.MethodDelete && isReal(r):
			if metadata := broken.FieldsOf(presentOrNone(next, r), "metadata"); metadata["deletionTimestamp"] != nil {
				times.Store(metadata["uid"], time.Now().UTC().Format(time.RFC3339))
			}
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && !broken.Watching(r):
			a := broken.Ask(next, r)
			if object := a.Object(); object != nil {
				metadata := broken.FieldsOf(object, "metadata")
				if last, ok := times.Load(metadata["uid"]); ok {
					metadata["deletionTimestamp"] = last
					a.Set(object)
				}
			}
			a.Send(w)
		default:
			next.ServeHTTP(w, r)
		}
	})(next)
}

func presentOrNone(next http.Handler, r *http.Request) map[string]any {
	if object := present(next, r); object != nil {
		return object
	}
	return map[string]any{}
}

// onDeletedWith adds a finalizer to the object that DELETE with a propagation policy answers.
func onDeletedWith(policy, finalizer string) func(http.Handler) http.Handler {
	match := func(r *http.Request) bool {
		var options map[string]any
		return json.Unmarshal(broken.BodyOf(r), &options) == nil && options["propagationPolicy"] == policy
	}
	return broken.OnAnswered(broken.And(broken.Method(http.MethodDelete), broken.Single, match), func(object map[string]any) {
		metadata := broken.FieldsOf(object, "metadata")
		if finalizers, ok := metadata["finalizers"].([]any); ok {
			metadata["finalizers"] = append(finalizers, finalizer)
		}
	})
}

// present returns the object that a request is about; nil if there is none.
func present(next http.Handler, r *http.Request) map[string]any {
	if a := broken.Also(next, r, http.MethodGet, "", "", nil); a.OK() {
		return a.Object()
	}
	return nil
}
