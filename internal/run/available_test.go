// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"net/http"
	"net/http/httptest"
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
