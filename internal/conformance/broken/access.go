// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"sync/atomic"
)

func access() []Breakage {
	return []Breakage{
		{
			Check: "access-anonymous", What: "lets everybody read lists",
			Break: asOwner(And(Listing, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })),
		},
		{
			Check: "access-bad-token", What: "takes who has a wrong token for somebody without one",
			Break: knowingOwner(func(r *http.Request, owner string) {
				if r.Header.Get("Authorization") != owner {
					r.Header.Del("Authorization")
				}
			}),
		},
		{
			Check: "access-spoofed-headers", What: "believes X-Remote-User whoever sends it",
			Break: asOwner(func(r *http.Request) bool { return r.Header.Get("X-Remote-User") == "admin" }),
		},
		{
			Check: "access-impersonation", What: "ignores Impersonate-User",
			Break: OnRequest(Single, func(r *http.Request) { r.Header.Del("Impersonate-User") }),
		},
		{
			Check: "access-review", What: "says in reviews that everybody may do everything",
			Break: OnAnswered(Method(http.MethodPost, Path("accessreviews")), func(review map[string]any) {
				FieldsOf(review, "status")["allowed"] = true
			}),
		},
		{
			Check: "forbidden-answer", What: "refuses with a text instead of a Status",
			Break: OnAnswer(Method(http.MethodGet, Single), func(_ *http.Request, a *Answer) {
				if message, ok := a.Object()["message"].(string); ok && a.Code == http.StatusForbidden {
					a.Header.Set("Content-Type", "text/plain")
					a.Body = []byte("Forbidden: " + message + "\n")
				}
			}),
		},
	}
}

// knowingOwner has edit change requests. The owner's credentials are those of the first request.
func knowingOwner(edit func(r *http.Request, owner string)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var owner atomic.Pointer[string]
		return OnRequest(func(*http.Request) bool { return true }, func(r *http.Request) {
			if credentials := r.Header.Get("Authorization"); credentials != "" {
				owner.CompareAndSwap(nil, &credentials)
			}
			if known := owner.Load(); known != nil {
				edit(r, *known)
			}
		})(next)
	}
}

// asOwner gives requests the rights of the owner.
func asOwner(match Match) func(http.Handler) http.Handler {
	return knowingOwner(func(r *http.Request, owner string) {
		if match(r) {
			r.Header.Set("Authorization", owner)
			r.Header.Del("Impersonate-User")
		}
	})
}
