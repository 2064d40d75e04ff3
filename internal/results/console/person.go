// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
)

type identityKey struct{}

// withIdentity returns the request with the headers of a [gate].
func withIdentity(r *http.Request, identity http.Header) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, identity))
}

// asPerson sends each request to the cluster as the person who made it.
//
// Invariant: none leaves without an identity, which would make it the console's own.
type asPerson struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t asPerson) RoundTrip(r *http.Request) (*http.Response, error) {
	identity, _ := r.Context().Value(identityKey{}).(http.Header)
	if len(identity) == 0 {
		if r.Body != nil {
			_ = r.Body.Close() // A RoundTripper has to.
		}
		return nil, errors.New("nobody asked")
	}
	sent := r.Clone(r.Context())
	maps.DeleteFunc(sent.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Impersonate-") })
	maps.Copy(sent.Header, identity)
	return t.next.RoundTrip(sent)
}
