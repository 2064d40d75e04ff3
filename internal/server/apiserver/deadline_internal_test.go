// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/server/filters"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestDeadlineAfterAnswer: the timeout filter of Kubernetes answers a request while its handler still runs.
// A handler that begins to read the body after that leaves the connection alone. (The race detector sees it.)
func TestDeadlineAfterAnswer(t *testing.T) {
	t.Parallel()
	limits := newBodyLimits(1<<20, 8<<20)
	answered, ended := make(chan struct{}), make(chan struct{})
	read := limits.wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		<-answered
		read.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	})
	timeout := filters.WithTimeout(slow, func(r *http.Request) (*http.Request, bool, func(), *apierrors.StatusError) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
		return r.WithContext(ctx), false, cancel, apierrors.NewTimeoutError("slow", 0)
	})
	server := httptest.NewUnstartedServer(withReadDeadline(timeout))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	testkit.NoError(t, errors.Join(err, response.Body.Close()))
	close(answered)
	<-ended
	if response.ProtoMajor != 2 || response.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("the answer is %s %s, want 504 by HTTP/2", response.Proto, response.Status)
	}
}
