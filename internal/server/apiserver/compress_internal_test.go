// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// compressing starts a server of answers to requests that have a verb, behind withCompression.
func compressing(t *testing.T, verb string, answer http.HandlerFunc) string {
	t.Helper()
	handler := withCompression(answer)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), &request.RequestInfo{Verb: verb})))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// ask returns an answer as it is sent.
func ask(t *testing.T, url, encoding string) *http.Response {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	r.Header.Set("Accept-Encoding", encoding)
	response := testkit.Must((&http.Transport{DisableKeepAlives: true}).RoundTrip(r))(t)
	return response
}

func TestCompression(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verb, accept string
		writes       []int
		status       int
		want, inner  string
	}{
		"large":             {"list", "gzip", []int{1, compressAbove}, 200, "gzip", ""},
		"one write":         {"list", "deflate, gzip", []int{compressAbove + 1}, 200, "gzip", ""},
		"just small enough": {"list", "gzip", []int{1, compressAbove - 1}, 200, "", ""},
		"an error":          {"list", "gzip", []int{50}, 410, "", ""},
		"nothing":           {"list", "gzip", nil, 204, "", ""},
		"not accepted":      {"list", "deflate, gzip;q=0", []int{3 * compressAbove}, 200, "", "deflate, gzip;q=0"},
		"watch":             {"watch", "gzip", []int{3 * compressAbove}, 200, "", "gzip"},
		"get":               {"get", "gzip", []int{3 * compressAbove}, 200, "", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts []string
			for i, n := range c.writes {
				parts = append(parts, strings.Repeat(string(rune('a'+i)), n))
			}
			inner := make(chan string, 1)
			url := compressing(t, c.verb, func(w http.ResponseWriter, r *http.Request) {
				inner <- r.Header.Get("Accept-Encoding")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				for _, part := range parts {
					_, _ = io.WriteString(w, part)
				}
			})
			response := ask(t, url, c.accept)
			defer func() { _ = response.Body.Close() }()
			body := response.Body
			if response.Header.Get("Content-Encoding") == "gzip" {
				body = testkit.Must(gzip.NewReader(body))(t)
			}
			got := testkit.Must(io.ReadAll(body))(t)
			if string(got) != strings.Join(parts, "") || response.StatusCode != c.status {
				t.Errorf("%d bytes with status %d, want %v with %d", len(got), response.StatusCode, c.writes, c.status)
			}
			vary := map[string]string{"gzip": "Accept-Encoding"}[c.want]
			if h := response.Header; h.Get("Content-Encoding") != c.want || h.Get("Vary") != vary || h.Get("Content-Type") != "application/json" {
				t.Errorf("got %v, want the encoding %q", h, c.want)
			}
			if got := <-inner; got != c.inner {
				t.Errorf("the library sees %q, want %q", got, c.inner)
			}
		})
	}
}

// TestCompressionStreams: the beginning of a list is sent before its end is there, and a list that is cut off does not
// end well.
func TestCompressionStreams(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	read := sync.OnceFunc(func() { close(begun) })
	defer read()
	url := compressing(t, "list", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		// What can't be packed: buffers below hold back little of it.
		_, _ = io.CopyN(w, rand.NewChaCha8([32]byte{}), 8*compressAbove)
		<-begun
		panic(http.ErrAbortHandler)
	})
	response := ask(t, url, "gzip")
	defer func() { _ = response.Body.Close() }()
	unpacked := testkit.Must(gzip.NewReader(response.Body))(t)
	if _, err := io.ReadFull(unpacked, make([]byte, compressAbove)); err != nil {
		t.Fatal(err)
	}
	read()
	if n, err := io.Copy(io.Discard, unpacked); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d further bytes and %v, want an end that is none", n, err)
	}
}
