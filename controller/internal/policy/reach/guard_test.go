// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package reach_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// sending is a configuration of which only the form of requests is used.
func sending() *rest.Config {
	return &rest.Config{
		Host: "http://127.0.0.1:1", APIPath: "/api",
		ContentConfig: rest.ContentConfig{GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	}
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// TestGuard: a call that nobody has checked does not get out of a guarded client, whether it has the
// scope of a policy or none; what is allowed does, as does the question what the API serves.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/clusters/one"} {
		var mu sync.Mutex
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), base))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","items":[],"versions":["v1"],"groups":[]}`))
		}))
		t.Cleanup(server.Close)
		config := testkit.Must(reach.Guarded(&rest.Config{Host: server.URL + base}))(t)
		client, typed := dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config)
		list := func(ctx context.Context, namespace string) error {
			_, err := client.Resource(configMaps).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
			return err
		}
		team, cluster := reach.With(t.Context(), reach.Scope{Namespace: "team"}), reach.With(t.Context(), reach.Scope{})
		for name, test := range map[string]struct {
			call func() error
			want []string
		}{
			"own namespace":     {func() error { return list(team, "team") }, []string{"GET /api/v1/namespaces/team/configmaps?labelSelector=a%3Db"}},
			"another namespace": {func() error { return list(team, "other") }, nil},
			"all namespaces":    {func() error { return list(team, "") }, nil},
			"dots": {func() error {
				_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "../other/configmaps"}).Namespace("team").List(team, metav1.ListOptions{})
				return err
			}, nil},
			"cluster policy": {func() error { return list(cluster, "") }, []string{"GET /api/v1/configmaps?labelSelector=a%3Db"}},
			"no policy":      {func() error { return list(t.Context(), "team") }, nil},
			"write": {func() error {
				_, err := client.Resource(configMaps).Namespace("team").Create(cluster, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}, metav1.CreateOptions{})
				return err
			}, nil},
			"delete": {func() error {
				return client.Resource(configMaps).Namespace("team").Delete(cluster, "x", metav1.DeleteOptions{})
			}, nil},
			"discovery": {func() error { _, err := typed.Discovery().ServerGroups(); return err }, []string{"GET /api", "GET /apis"}},
		} {
			err := test.call()
			mu.Lock()
			got := asked
			asked = nil
			mu.Unlock()
			slices.Sort(got)
			if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) || err != nil && !reach.Refused(err) {
				t.Errorf("%s%s: asked %v, want %v; %v", base, name, got, test.want, err)
			}
		}
	}
}

// TestGuardAndRedirects: the API does not send policies elsewhere, with or without credentials.
func TestGuardAndRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s has the header Authorization %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/api/v1/namespaces/team/configmaps", http.StatusFound))
	t.Cleanup(server.Close)
	config, err := reach.Guarded(&rest.Config{Host: server.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := reach.With(t.Context(), reach.Scope{Namespace: "team"})
	_, err = dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("team").List(ctx, metav1.ListOptions{})
	if !reach.Refused(err) {
		t.Errorf("%v", err)
	}
}
