// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

// BenchmarkDiscovery: 100 groups of extension servers, one of them dead, in both forms, from a
// client over TLS.
func BenchmarkDiscovery(b *testing.B) {
	w := newWorld(b)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		writeJSON(rw, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: strings.TrimPrefix(r.URL.Path, "/apis/"),
			APIResources: []metav1.APIResource{{Name: "widgets", Namespaced: true, Kind: "Widget", Verbs: metav1.Verbs{"get", "list"}}},
		})
	}))
	b.Cleanup(server.Close)
	for i := range 100 {
		group, address := "g"+strconv.Itoa(i)+".example.com", server.URL
		want := apiregistration.ConditionTrue
		if i == 99 {
			address, want = "https://127.0.0.1:1", apiregistration.ConditionFalse
		}
		_, err := w.client.ApiregistrationV1().APIServices().Create(b.Context(), &apiregistration.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: "v1." + group, Annotations: map[string]string{aggregator.EndpointAnnotation: address}},
			Spec: apiregistration.APIServiceSpec{
				Group: group, Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 10, InsecureSkipTLSVerify: true,
				Service: &apiregistration.ServiceReference{Namespace: "default", Name: "echo"},
			},
		}, metav1.CreateOptions{})
		must(b, err)
		if i > 97 {
			w.available(b, "v1."+group, want)
		}
	}
	client := w.httpClient(b, "")
	for name, accept := range map[string]string{
		"legacy":     "application/json",
		"aggregated": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, w.config.Host+"/apis", nil)
				must(b, err)
				r.Header.Set("Accept", accept)
				answer, err := client.Do(r)
				must(b, err)
				if answer.StatusCode != http.StatusOK {
					b.Fatal(answer.Status)
				}
				body, err := io.ReadAll(answer.Body)
				must(b, err)
				_ = answer.Body.Close()
				if groups := strings.Count(string(body), ".example.com"); groups < 100 {
					b.Fatalf("%d of 100 groups", groups)
				}
			}
		})
	}
}
