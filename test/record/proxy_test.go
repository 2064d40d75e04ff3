// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// proxyOf returns a proxy for a made-up server, and a function that asks it.
func proxyOf(t *testing.T, answer http.HandlerFunc) (*Proxy, func(method, path, body string) string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	proxy, through := startProxy(t, &rest.Config{Host: server.URL, BearerToken: "the-token"})
	return proxy, func(method, path, body string) string {
		t.Helper()
		request := testkit.Must(http.NewRequestWithContext(t.Context(), method, through.Host+path, strings.NewReader(body)))(t)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer of the program")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		data := testkit.Must(io.ReadAll(response.Body))(t)
		_ = response.Body.Close()
		return fmt.Sprintf("%d %s", response.StatusCode, data)
	}
}

func TestProxyPassesOn(t *testing.T) {
	t.Parallel()
	proxy, ask := proxyOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // An error shows as a body that is too short.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `{"method":%q,"path":%q,"body":%q,"rights":%q}`, r.Method, r.URL.RequestURI(), body,
			strings.Replace(r.Header.Get("Authorization"), "the-token", "its own", 1))
	})
	for path, kept := range map[string]bool{
		"/api/v1/pods?limit=1": false, "/apis": false, "/apis/apps/v1": false,
		"/apis/wgpolicyk8s.io/v1alpha2": false, "/apis/openreports.io/v1alpha1/reports?limit=1": true, "/apis/reports.kyverno.io/v1/x": true,
	} {
		before := len(proxy.exchanges)
		want := fmt.Sprintf(`418 {"method":"PUT","path":%q,"body":"{}","rights":"Bearer its own"}`, path)
		if got := ask(http.MethodPut, path, "{}"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := len(proxy.exchanges) > before; got != kept {
			t.Errorf("%s: kept: %v, want %v", path, got, kept)
		}
	}
}

const recordedPath = "/apis/wgpolicyk8s.io/v1alpha2/policyreports"

// TestProxySaysWhatItCannotRecord: a recording is complete, or there is none.
func TestProxySaysWhatItCannotRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		body   string
		count  int
		want   string
	}{
		"long request": {func(http.ResponseWriter, *http.Request) {}, strings.Repeat(" ", maxBody+1), 1, "request body too large"},
		"long answer": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat(" ", maxBody+1))
		}, "", 1, "record with fewer objects"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", 1, "PUT " + recordedPath},
		"unknown type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/cbor")
			fmt.Fprint(w, "x")
		}, "", 1, "can't be recorded"},
		"a secret": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"message":"use the-token"}`)
		}, "", 1, "line 2 would tell"},
		"too many requests": {func(http.ResponseWriter, *http.Request) {}, "", maxExchanges + 1, "record a shorter run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, ask := proxyOf(t, c.answer)
			for range c.count {
				ask(http.MethodPut, recordedPath, c.body)
			}
			if _, err := proxy.Recording(Header{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
