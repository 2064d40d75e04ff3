// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

func deletesOfHeld() []Breakage {
	return []Breakage{
		{
			Check: "delete-finalizers", What: "deletes objects at once, whatever finalizers they have",
			Break: onAsked(And(Method(http.MethodDelete), Single, isReal), func(next http.Handler, r *http.Request) { takeFinalizers(next, r) }),
		},
		{
			Check: "delete-final", What: "brings back what is being deleted if a PUT has no deletionTimestamp",
			Break: onAsked(Method(http.MethodPut, Single), resurrect),
		},
		{
			Check: "delete-again", What: "begins anew when what is being deleted is deleted again",
			Break: deleteAnew,
		},
		{
			Check: "delete-propagation", What: "marks for foreground deletion what is to leave its dependents behind",
			Break: onDeletedWith("Orphan", "foregroundDeletion"),
		},
		{
			Check: "delete-propagation", What: "knows Orphan, but not Foreground",
			Break: onDeletedWith("Orphan", "orphan"),
		},
	}
}

// onAsked has do send requests of its own before one is passed on.
func onAsked(match Match, do func(next http.Handler, r *http.Request)) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		do(next, r)
		next.ServeHTTP(w, r)
	})
}

// present returns the object that a request is about; nil if there is none.
func present(next http.Handler, r *http.Request) map[string]any {
	if a := Also(next, r, http.MethodGet, "", "", nil); a.OK() {
		return a.Object()
	}
	return nil
}

// takeFinalizers takes all finalizers from the object that a request is about.
func takeFinalizers(next http.Handler, r *http.Request) {
	if object := present(next, r); object != nil && FieldsOf(object, "metadata")["finalizers"] != nil {
		Also(next, r, http.MethodPatch, "", MergePatch, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	}
}

// resurrect makes what is being deleted anew, as it was before, if that is what a PUT wants.
func resurrect(next http.Handler, r *http.Request) {
	var sent map[string]any
	if json.Unmarshal(BodyOf(r), &sent) != nil || FieldsOf(sent, "metadata")["deletionTimestamp"] != nil {
		return
	}
	object := present(next, r)
	if object == nil || FieldsOf(object, "metadata")["deletionTimestamp"] == nil {
		return
	}
	takeFinalizers(next, r)
	metadata := FieldsOf(object, "metadata")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"} {
		delete(metadata, field)
	}
	Also(next, r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/"+PlaceOf(r).Name), "application/json", object)
}

// deleteAnew shows the time of the last deletion instead of that of the first one.
func deleteAnew(next http.Handler) http.Handler {
	var times sync.Map // by uid
	return Instead(Single, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch {
		case r.Method == http.MethodDelete && isReal(r):
			if metadata := FieldsOf(presentOrNone(next, r), "metadata"); metadata["deletionTimestamp"] != nil {
				times.Store(metadata["uid"], time.Now().UTC().Format(time.RFC3339))
			}
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && !Watching(r):
			a := Ask(next, r)
			if object := a.Object(); object != nil {
				metadata := FieldsOf(object, "metadata")
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
		return json.Unmarshal(BodyOf(r), &options) == nil && options["propagationPolicy"] == policy
	}
	return OnAnswered(And(Method(http.MethodDelete), Single, match), func(object map[string]any) {
		metadata := FieldsOf(object, "metadata")
		if finalizers, ok := metadata["finalizers"].([]any); ok {
			metadata["finalizers"] = append(finalizers, finalizer)
		}
	})
}
