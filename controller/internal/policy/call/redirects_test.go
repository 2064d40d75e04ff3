// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

func TestRedirects(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(answering(`{}`))
	defer plain.Close()
	target, targetBundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"key": r.Header.Get("X-Key"), "method": r.Method})
	})
	server, bundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to, code := r.URL.Query().Get("to"), http.StatusTemporaryRedirect
		switch {
		case r.URL.Path == "/loop":
			to = "/loop"
		case to == "":
			answering(`{"here":true}`)(w, r)
			return
		}
		http.Redirect(w, r, to, code)
	})
	request := func(path string) call.Request {
		return call.Request{URL: server.URL + path, CABundle: bundle + targetBundle, Headers: []call.Header{{Key: "X-Key", Value: "secret"}}}
	}
	for path, test := range map[string]struct{ reason, word string }{
		"/?to=https://169.254.169.254/latest/meta-data": {call.ReasonBlocked, "169.254.169.254 is blocked"},
		"/?to=https://[fd00:ec2::254]/":                 {call.ReasonBlocked, "is blocked"},
		"/?to=" + plain.URL:                             {call.ReasonRedirect, "only redirects from https to https"},
		"/?to=file:///etc/passwd":                       {call.ReasonRedirect, "https"},
		"/loop":                                         {call.ReasonRedirect, "more than 3 redirects"},
	} {
		_, err := do(t, loopback, request(path))
		fails(t, err, test.reason, test.word)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret is in %v", err)
		}
	}
	if got, err := do(t, loopback, request("/?to=/")); err != nil || string(got) != `{"here":true}` {
		t.Errorf("redirect on the host: %s, %v", got, err)
	}
	if got, err := do(t, loopback, request("/?to="+target.URL)); err != nil || strings.TrimSpace(string(got)) != `{"key":"","method":"GET"}` {
		t.Errorf("redirect to another host: %s, %v", got, err)
	}
	post := request("/?to=" + target.URL)
	post.Method = http.MethodPost
	_, err := do(t, loopback, post)
	fails(t, err, call.ReasonRedirect, "not posted to another host")
	from := call.Request{URL: plain.URL}
	plain.Config.Handler = http.RedirectHandler(server.URL, http.StatusFound)
	_, err = do(t, loopback, from)
	fails(t, err, call.ReasonRedirect, "only redirects from https to https")
}

// TestRedirectsCarryNothing: neither headers nor the address of before get to another host, also when
// that one leads back.
func TestRedirectsCarryNothing(t *testing.T) {
	t.Parallel()
	var first *httptest.Server
	show := func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewEncoder(w).Encode(r.Header); err != nil {
			t.Error(err)
		}
	}
	other, otherBundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(w, r, first.URL+"/show", http.StatusFound)
			return
		}
		show(w, r)
	})
	var bundle string
	first, bundle = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/show":
			show(w, r)
		case "/here":
			http.Redirect(w, r, "/show", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
		}
	})
	for path, wantKey := range map[string]bool{"/show": true, "/here": true, "/elsewhere": false, "/back": false} {
		for what, ask := range map[string]func(call.Request) ([]byte, error){
			"call":   func(r call.Request) ([]byte, error) { return do(t, loopback, r) },
			"client": func(r call.Request) ([]byte, error) { return call.NewClient(loopback).JSON(t.Context(), r) },
		} {
			got, err := ask(call.Request{
				URL: first.URL + path + "?token=hunter2", CABundle: bundle + otherBundle,
				Headers: []call.Header{{Key: "X-Key", Value: "k"}, {Key: "Accept", Value: "text/secret"}},
			})
			if err != nil || strings.Contains(string(got), "hunter2") || strings.Contains(string(got), "Referer") || strings.Contains(string(got), "X-Key") != wantKey {
				t.Errorf("%s by a %s: %s, %v", path, what, got, err)
			}
			if strings.Contains(string(got), "text/secret") != wantKey {
				t.Errorf("%s by a %s: %s", path, what, got)
			}
		}
	}
}
