// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// sink keeps what would be sent.
type sink struct{ sent *http.Request }

var errSunk = errors.New("nothing is sent")

// RoundTrip implements http.RoundTripper.
func (s *sink) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent = r
	return nil, errSunk
}

// TestAsPerson: of what makes somebody of a request, only their identity is sent, whatever else lets headers pass.
func TestAsPerson(t *testing.T) {
	t.Parallel()
	for want, identity := range map[string]http.Header{
		"Bearer alice":                      {"Authorization": {"Bearer alice"}},
		"Bearer own Impersonate-User=alice": {"Impersonate-User": {"alice"}},
	} {
		s := &sink{}
		r := withIdentity(httptest.NewRequest(http.MethodGet, "http://cluster/", http.NoBody), identity)
		spoofed(r)
		r.Header.Set("Authorization", "Bearer own")
		response, err := asPerson{s}.RoundTrip(r)
		if response != nil {
			_ = response.Body.Close() // There is none.
		}
		if !errors.Is(err, errSunk) || identityOf(s.sent.Header) != want {
			t.Errorf("%v: sent as %q, want %q", err, identityOf(s.sent.Header), want)
		}
		if r.Header.Get("Authorization") != "Bearer own" || r.Header.Get("Impersonate-User") != "admin" {
			t.Error("the request of the caller was changed")
		}
	}
}
