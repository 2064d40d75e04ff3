// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/manifest"
)

// TestAddresses: what a server has is read like a file, once, and nothing goes over plain HTTP.
func TestAddresses(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request over plain HTTP") }))
	t.Cleanup(plain.Close)
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch r.URL.Path {
		case "/two.yaml":
			_, _ = w.Write([]byte(object("a") + "---\n" + object("b")))
		case "/moved":
			http.Redirect(w, r, "/two.yaml", http.StatusFound)
		case "/down":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat("# comment\n", 1000)))
		case "/page":
			_, _ = w.Write([]byte("<html>sign in</html>"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	loader := func() *manifest.Loader {
		return &manifest.Loader{Fetch: manifest.Fetcher(t.Context(), server.Client().Transport), Limits: manifest.Limits{File: 5000, Total: 5000}}
	}
	for path, want := range map[string]string{
		"/absent":   "/absent: the server answers 404 Not Found",
		"/down":     "/down: http:// is refused; use https://",
		"/circle":   "/circle: more than 10 redirects",
		"/large":    "/large: is larger than 5000 bytes",
		"/page":     "/page: ",
		"/two.yaml": "",
		"/moved":    "",
	} {
		set, err := loader().Load(server.URL + path)
		switch {
		case want == "" && (err != nil || len(set.Objects) != 2 || set.Objects[1].Place != (manifest.Place{}) || set.Objects[1].Origin != server.URL+path+": document 2"):
			t.Errorf("%s: %v, %v", path, set.Objects, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	before := requests
	if set, err := loader().Load(server.URL+"/two.yaml", server.URL+"/two.yaml"); err != nil || len(set.Objects) != 2 || requests != before+1 {
		t.Errorf("named twice: %d objects, %d requests, %v", len(set.Objects), requests-before, err)
	}
	secret := strings.Replace(server.URL, "https://", "https://me:secret@", 1)
	for _, address := range []string{secret, secret + "/two.yaml?token=secret", secret + "//folder?ref=secret", strings.Replace(server.URL, "https://", "https://secret@", 1) + "/\x01"} {
		if _, err := loader().Load(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("a password: %v", err)
		}
	}
	if _, err := (&manifest.Loader{}).Load(server.URL + "/two.yaml"); err == nil {
		t.Error("an address is read without a way to do so")
	}
}
