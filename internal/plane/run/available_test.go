// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	discoveryType   = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	notYetDiscovery = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
		{"metadata":{"name":"things.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`
	fullDiscovery = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
		{"metadata":{"name":"things.example.com"},"versions":[{"version":"v1","freshness":"Current","resources":[
		{"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced","verbs":["get"]}]}]},
		{"metadata":{"name":"others.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`
)

// TestDiscoveryIsWaitedFor: a server is announced once discovery has its kinds, whatever it says of other servers.
func TestDiscoveryIsWaitedFor(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	endpointServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", discoveryType)
		switch {
		case r.URL.Path == "/api":
			_, _ = w.Write([]byte(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`))
		case asked.Add(1) < 3:
			_, _ = w.Write([]byte(notYetDiscovery))
		default:
			_, _ = w.Write([]byte(fullDiscovery))
		}
	}))
	t.Cleanup(endpointServer.Close)
	core, err := kubernetes.NewForConfig(&rest.Config{Host: endpointServer.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &registration{endpoint: &endpoint{core: core}, versions: []schema.GroupVersion{{Group: "things.example.com", Version: "v1"}}}
	if err := r.waitDiscovered(t.Context()); err != nil || asked.Load() < 3 {
		t.Errorf("asked %d times, want at least 3; %v", asked.Load(), err)
	}
}

// TestOpenAPIIsWaitedFor: a server is announced once the endpoint has the server's documents. The message says which
// are missing if they don't come.
func TestOpenAPIIsWaitedFor(t *testing.T) {
	t.Parallel()
	const (
		none  = `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=A"}}}`
		thing = `{"paths":{"apis/things.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/things.example.com/v1?hash=B"}}}`
	)
	type answer struct {
		code int
		body string
	}
	for name, test := range map[string]struct {
		server   answer
		endpoint []answer // The last one again and again.
		asked    int32
		note     string
	}{
		"late":                        {answer{200, thing}, []answer{{200, none}, {503, ""}, {200, "?"}, {200, thing}}, 4, ""},
		"late, of a silent server":    {answer{403, ""}, []answer{{200, none}, {200, thing}}, 2, ""},
		"a server without":            {answer{404, ""}, []answer{{200, none}}, 1, ""},
		"a server without this one":   {answer{200, none}, []answer{{200, none}}, 1, ""},
		"an endpoint without":         {answer{200, thing}, []answer{{404, ""}}, 1, "things.example.com/v1"},
		"an endpoint that refuses":    {answer{200, thing}, []answer{{403, ""}}, 1, "things.example.com/v1"},
		"documents that are no index": {answer{200, "?"}, []answer{{200, none}}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.server.code)
				_, _ = w.Write([]byte(test.server.body))
			}))
			t.Cleanup(server.Close)
			var asked atomic.Int32
			endpointServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				now := test.endpoint[min(int(asked.Add(1)), len(test.endpoint))-1]
				w.WriteHeader(now.code)
				_, _ = w.Write([]byte(now.body))
			}))
			t.Cleanup(endpointServer.Close)
			core, err := kubernetes.NewForConfig(&rest.Config{Host: endpointServer.URL})
			if err != nil {
				t.Fatal(err)
			}
			var notes strings.Builder
			versions := []schema.GroupVersion{{Group: "things.example.com", Version: "v1"}}
			r := &registration{endpoint: &endpoint{core: core}, versions: versions, notes: &notes}
			a := &asker{base: server.URL, anonymous: server.Client()}
			if err := r.waitDocumented(t.Context(), a.documented(t.Context(), versions)); err != nil {
				t.Error(err)
			}
			if asked.Load() != test.asked {
				t.Errorf("the endpoint was asked %d times, want %d", asked.Load(), test.asked)
			}
			if (notes.Len() > 0) != (test.note != "") || !strings.Contains(notes.String(), test.note) {
				t.Errorf("noted %q, want %q", notes.String(), test.note)
			}
		})
	}
}
