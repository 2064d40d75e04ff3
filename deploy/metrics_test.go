// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/resultmetrics"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// reports is a path of the API, and what is posted to it.
const (
	reports    = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/team-a/policyreports"
	someReport = `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"a"},"results":[
		{"source":"kyverno","policy":"p","rule":"r","category":"c","result":"fail","severity":"critical"},
		{"source":"kyverno","policy":"p","rule":"s","category":"c","result":"pass","severity":"high"}]}`
)

// measured is a server in this process whose metrics the test reads.
type measured struct {
	url    string
	client *http.Client
	// tls is what clients trust, and the name in the certificate.
	tls rest.TLSClientConfig
}

// servedMetrics returns the names of all series of a server that did some work.
func servedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	_, names := startAtWork(t)
	return names
}

// startAtWork starts a server that does some work, and returns it with the names of all its series.
func startAtWork(t *testing.T) (s *measured, names map[string]bool) {
	t.Helper()
	// Sizes are measured each minute of this clock, and results are counted.
	clock := clocktesting.NewFakeClock(time.Now())
	s = startMeasured(t, clock)
	s.do(t, http.MethodPost, reports, someReport, http.StatusCreated)
	s.do(t, http.MethodGet, reports+"/a", "", http.StatusOK)
	s.do(t, http.MethodGet, reports+"/a", "", http.StatusOK)
	testkit.Eventually(t, "sizes and results among the metrics", func() bool {
		clock.Step(time.Minute)
		names = seriesNames(s.do(t, http.MethodGet, "/metrics", "", http.StatusOK))
		return names["docket_store_size"] && names["docket_policy_results"]
	})
	return s, names
}

var seriesName = regexp.MustCompile(`(?m)^[a-zA-Z_:][a-zA-Z0-9_:]*`)

func seriesNames(text string) map[string]bool {
	names := map[string]bool{}
	for _, name := range seriesName.FindAllString(text, -1) {
		names[name] = true
	}
	return names
}

func startMeasured(t *testing.T, clock *clocktesting.FakeClock) *measured {
	t.Helper()
	server := testkit.Must(newMeasured(t.Context(), filepath.Join(t.TempDir(), "docket.db"), clock))(t)
	loopback := server.Generic.LoopbackClientConfig
	client := testkit.Must(rest.HTTPClientFor(rest.AnonymousClientConfig(loopback)))(t)
	testkit.Run(t, "the server", server.Run)
	t.Cleanup(client.CloseIdleConnections)
	s := &measured{url: loopback.Host, client: client, tls: loopback.TLSClientConfig}
	testkit.Eventually(t, "a server that is ready", func() bool {
		status, _, err := s.request(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK
	})
	return s
}

func newMeasured(ctx context.Context, path string, clock *clocktesting.FakeClock) (*apiserver.Server, error) {
	options := apiserver.NewLocalOptions()
	options.Storage.Database = "sqlite://" + path
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	options.SecureServing.Listener = listener
	config, err := options.Complete().Config(ctx)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	config.Store.Clock = clock
	config.MetricsResults = resultmetrics.Dimensions()
	config.Generic.Authentication.Authenticator = authenticatorfactory.NewFromTokens(
		map[string]*user.DefaultInfo{token: {Name: "tester", Groups: []string{user.AllAuthenticated}}}, nil)
	config.Generic.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	completed, err := config.Complete()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server, err := completed.New(ctx)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return server, nil
}

const token = "token-of-the-test"

func (s *measured) request(ctx context.Context, method, path, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

func (s *measured) do(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	status, text, err := s.request(t.Context(), method, path, body)
	if err != nil || status != want {
		t.Fatalf("%s %s: status %d, want %d: %v\n%s", method, path, status, want, err, text)
	}
	return text
}
