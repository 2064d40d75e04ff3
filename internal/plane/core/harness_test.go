// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/storetest"
)

const (
	testToken = "token-of-the-test"
	jsonType  = runtime.ContentTypeJSON
	protobuf  = runtime.ContentTypeProtobuf
)

// testServer serves the core API with TLS from SQLite.
type testServer struct {
	config *rest.Config
	client kubernetes.Interface
	http   *http.Client
}

// newTestServer runs a server until the test ends. Clients ask it as the user alice.
func newTestServer(t *testing.T) *testServer {
	t.Helper()
	return newTestServerAt(t, clock.RealClock{})
}

// newTestServerAt is newTestServer for a storage with a clock of its own.
func newTestServerAt(t *testing.T, now clock.WithTicker) *testServer {
	t.Helper()
	engine := testkit.Must(database.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "docket.db"), database.Options{Cluster: "test"}))(t)
	t.Cleanup(func() { _ = engine.Close() })
	objects := storetest.Start(t, store.Options{Engine: engine, Clock: now})

	config, client := newTestConfig(t)
	testkit.NoError(t, Prepare(config))
	server := testkit.Must(config.Complete().New("core-test", genericapiserver.NewEmptyDelegate()))(t)
	reviews := Reviews{Authorizer: config.Authorization.Authorizer, Rules: config.RuleResolver, Tokens: authenticator.TokenFunc(whose)}
	testkit.NoError(t, Install(server, config, objects.ObjectsGetter, reviews))
	testkit.Run(t, "the server", func(ctx context.Context) error { return server.PrepareRun().RunWithContext(ctx) })
	s := &testServer{config: client}
	s.http = testkit.Must(rest.HTTPClientFor(client))(t)
	s.client = s.speaking(t, protobuf)
	return s
}

func newTestConfig(t *testing.T) (*genericapiserver.RecommendedConfig, *rest.Config) {
	t.Helper()
	ca, err := certificate.NewAuthority("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := certificate.NewServing(ca, []string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	options := genericoptions.NewSecureServingOptions().WithLoopback()
	options.ServerCert.GeneratedCert = testkit.Must(dynamiccertificates.NewStaticCertKeyContent("test", pair.CertificatePEM, pair.KeyPEM))(t)
	options.Listener = testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	scheme := testkit.Must(NewScheme())(t)
	config := genericapiserver.NewRecommendedConfig(serializer.NewCodecFactory(scheme))
	testkit.NoError(t, options.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig))
	config.EffectiveVersion = compatibility.NewEffectiveVersionFromString("1.36", "", "")
	config.Authentication.Authenticator = bearertoken.New(authenticator.TokenFunc(whose))
	config.Authorization.Authorizer = authorizer.AuthorizerFunc(mayAlice)
	config.RuleResolver = aliceRules{}
	return config, &rest.Config{
		Host: "https://" + options.Listener.Addr().String(), BearerToken: testToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.CertificatePEM},
	}
}

func whose(_ context.Context, token string) (*authenticator.Response, bool, error) {
	if token != testToken {
		return nil, false, nil
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: "alice", Groups: []string{"users"}}}, true, nil
}

// mayAlice lets alice and the server's loopback client do everything but fly.
func mayAlice(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	known := a.GetUser().GetName() == "alice" || slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup)
	if known && a.GetVerb() != "fly" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "not alice, or she can't", nil
}

type aliceRules struct{}

func (aliceRules) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{Verbs: []string{"get"}, Resources: []string{"pods"}}}, nil, false, nil
}

// speaking returns a typed client that sends and wants a media type.
func (s *testServer) speaking(t *testing.T, mediaType string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.ContentType, config.AcceptContentTypes = mediaType, mediaType
	return testkit.Must(kubernetes.NewForConfig(config))(t)
}

// request sends one request; headers are pairs of name and value.
func (s *testServer) request(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	request := testkit.Must(http.NewRequestWithContext(t.Context(), method, s.config.Host+path, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", jsonType)
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content := testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, response.Header, string(content)
}

// startWatch returns how a watch is answered, and ends it.
func (s *testServer) startWatch(t *testing.T, path string) int {
	t.Helper()
	request := testkit.Must(http.NewRequestWithContext(t.Context(), "GET", s.config.Host+path+"?watch=true", http.NoBody))(t)
	request.Header.Set("Accept", protobuf+";stream=watch")
	response, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	testkit.NoError(t, response.Body.Close())
	return response.StatusCode
}
