// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// answering returns the registration of a server at an endpoint that gives one answer about its servers after the
// other, and the last one again and again. asked counts the questions.
func answering(t *testing.T, notes *strings.Builder, answers ...string) (_ *registration, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := answers[min(int(asked.Add(1)), len(answers))-1]
		if answer == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	core, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	versions := []schema.GroupVersion{{Group: "things.example.com", Version: "v1"}}
	return &registration{endpoint: &endpoint{core: core}, versions: versions, notes: notes}, asked
}

// thing is the aggregator's answer about the server of things.
func thing(fields string) string { return `[{"groupVersion":"things.example.com/v1",` + fields + `}]` }

// TestAvailabilityIsWaitedFor: a server is announced once the aggregator reaches it, whatever other servers do. What
// keeps the server away is said once.
func TestAvailabilityIsWaitedFor(t *testing.T) {
	t.Parallel()
	var notes strings.Builder
	r, asked := answering(t, &notes,
		`[{"groupVersion":"others.example.com/v1","available":true}]`,
		thing(`"available":true,"local":true`),
		thing(`"reason":"NotChecked"`),
		thing(`"reason":"FailedDiscoveryCheck","message":"no connection"`),
		thing(`"reason":"FailedDiscoveryCheck","message":"no connection"`),
		thing(`"available":true`),
	)
	if err := r.waitAvailable(t.Context()); err != nil || asked.Load() != 6 {
		t.Errorf("asked %d times, want 6; %v", asked.Load(), err)
	}
	if want := "docket run: waiting for things.example.com/v1: FailedDiscoveryCheck: no connection\n"; notes.String() != want {
		t.Errorf("noted %q, want %q", notes.String(), want)
	}
}

// TestOpenAPIIsWaitedFor: a server is announced once the endpoint has the server's documents. The message says which
// are missing, and why, if they don't come.
func TestOpenAPIIsWaitedFor(t *testing.T) {
	t.Parallel()
	const hour, moment = time.Hour, 2 * time.Second
	for name, test := range map[string]struct {
		answers []string
		grace   time.Duration
		note    string
	}{
		"late":            {[]string{thing(`"available":true`), "?", thing(`"openAPI":"no connection"`), thing(`"openAPI":"Read"`)}, hour, ""},
		"never":           {[]string{thing(`"available":true`)}, moment, "OpenAPI of things.example.com/v1 (not read within 2s), without"},
		"broken":          {[]string{thing(`"openAPI":"is no JSON"`)}, moment, "OpenAPI of things.example.com/v1 (is no JSON), without"},
		"no such listing": {[]string{""}, moment, "OpenAPI of things.example.com/v1 (not read within 2s), without"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var notes strings.Builder
			r, asked := answering(t, &notes, test.answers...)
			if err := r.waitDocumented(t.Context(), test.grace); err != nil || int(asked.Load()) < len(test.answers) {
				t.Errorf("asked %d times, want at least %d; %v", asked.Load(), len(test.answers), err)
			}
			if (notes.Len() > 0) != (test.note != "") || !strings.Contains(notes.String(), test.note) {
				t.Errorf("noted %q, want %q", notes.String(), test.note)
			}
		})
	}
}

// TestOtherEndpoint: a kube-apiserver is refused before anything is registered there.
func TestOtherEndpoint(t *testing.T) {
	t.Parallel()
	r, _ := answering(t, &strings.Builder{}, "")
	err := NewOptions().chooseName(t.Context(), r.endpoint, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "is not a docket gateway") {
		t.Errorf("got %v", err)
	}
}

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
	core := testkit.Must(kubernetes.NewForConfig(&rest.Config{Host: endpointServer.URL}))(t)
	r := &registration{endpoint: &endpoint{core: core}}
	list, err := r.resources(t.Context(), schema.GroupVersion{Group: "things.example.com", Version: "v1"})
	if err != nil || asked.Load() < 3 || len(list.APIResources) != 1 || list.APIResources[0].Name != "things" {
		t.Errorf("asked %d times, want at least 3; got %v, %v", asked.Load(), list, err)
	}
}
