// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"sync/atomic"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenAccess are servers that break the rules of this area.
func brokenAccess() map[string]broken.Server {
	return map[string]broken.Server{
		"access-anonymous": broken.That("lets everybody read lists", asOwner(broken.And(broken.Listing, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }))),
		"access-bad-token": broken.That("takes who has a wrong token for somebody without one", knowingOwner(func(r *http.Request, owner string) {
			if r.Header.Get("Authorization") != owner {
				r.Header.Del("Authorization")
			}
		})),
		"access-spoofed-headers": broken.That("believes X-Remote-User whoever sends it", asOwner(func(r *http.Request) bool { return r.Header.Get("X-Remote-User") == "admin" })),
		"access-impersonation":   broken.That("ignores Impersonate-User", broken.OnRequest(broken.Single, func(r *http.Request) { r.Header.Del("Impersonate-User") })),
		"access-review": broken.That("says in reviews that everybody may do everything", broken.OnAnswered(broken.Method(http.MethodPost, broken.Path("accessreviews")), func(review map[string]any) {
			broken.FieldsOf(review, "status")["allowed"] = true
		})),
		"forbidden-answer": broken.That("refuses with a text instead of a Status", broken.OnAnswer(broken.Method(http.MethodGet, broken.Single), func(_ *http.Request, a *broken.Answer) {
			if message, ok := a.Object()["message"].(string); ok && a.Code == http.StatusForbidden {
				a.Header.Set("Content-Type", "text/plain")
				a.Body = []byte("Forbidden: " + message + "\n")
			}
		})),
	}
}

// asOwner gives requests the rights of the owner.
func asOwner(match broken.Match) func(http.Handler) http.Handler {
	return knowingOwner(func(r *http.Request, owner string) {
		if match(r) {
			r.Header.Set("Authorization", owner)
			r.Header.Del("Impersonate-User")
		}
	})
}

// knowingOwner has edit change requests. The owner's credentials come from the first request.
func knowingOwner(edit func(r *http.Request, owner string)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var owner atomic.Pointer[string]
		return broken.OnRequest(func(*http.Request) bool { return true }, func(r *http.Request) {
			if credentials := r.Header.Get("Authorization"); credentials != "" {
				owner.CompareAndSwap(nil, &credentials)
			}
			if known := owner.Load(); known != nil {
				edit(r, *known)
			}
		})(next)
	}
}
