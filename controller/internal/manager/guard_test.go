// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// reviewer serves a cluster that knows some tokens, and lets prometheus get /metrics. It returns its URL.
func reviewer(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		name, known := strings.CutPrefix(review.Spec.Token, "token-of-")
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: authenticationv1.UserInfo{Username: name}}
		answer(t, w, review)
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && asked != nil && asked.Path == "/metrics" && asked.Verb == "get"
		answer(t, w, review)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func answer(t *testing.T, w http.ResponseWriter, object any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		t.Error(err)
	}
}

// TestMetricsAreForThoseWhoMay: probes are answered to everybody, and metrics to whom the cluster says.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	client := testkit.Must(kubernetes.NewForConfig(&rest.Config{Host: reviewer(t)}))(t)
	guard := testkit.Must(newGuard(client))(t)
	ctx, cancel := context.WithCancel(t.Context())
	h := testkit.Must(newHealth(ctx, "127.0.0.1:0", guard))(t)
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx) }()
	insecure := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // As Prometheus does.
	for _, c := range []struct {
		path, token string
		code        int
		text        string
	}{
		{"/healthz", "", http.StatusOK, "ok"},
		{"/readyz", "", http.StatusServiceUnavailable, "starting"},
		{"/metrics", "", http.StatusUnauthorized, "bearer token"},
		{"/metrics", "nobody's", http.StatusUnauthorized, "bearer token"},
		{"/metrics", "token-of-bob", http.StatusForbidden, "nonResourceURLs"},
		{"/metrics", "token-of-prometheus", http.StatusOK, "go_goroutines"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+h.listener.Addr().String()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		answer, err := insecure.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != c.code || !strings.Contains(string(body), c.text) {
			t.Errorf("%s of %q: %d %.200s %v, want %d %s", c.path, c.token, answer.StatusCode, body, err, c.code, c.text)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
