// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store/engine"
)

const (
	testToken = "test-token-of-the-in-process-server"
	// plainToken is of a user who may do everything but import.
	plainToken = "test-token-of-a-user-without-the-right-to-import"
)

var policyReports = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}

// testServer is a server in this process, with TLS, and clients of it.
type testServer struct {
	*apiserver.Server
	config *rest.Config
	client dynamic.Interface
	http   *http.Client
	// stop ends the server and waits for it; the end of the test does so, too.
	stop func()
}

// startServer runs a server on a database until the test ends.
func startServer(t testing.TB, databaseURL string, change ...func(*apiserver.Options)) *testServer {
	t.Helper()
	server := testkit.Must(newServer(t.Context(), databaseURL, change...))(t)
	return runServer(t, server)
}

// runServer runs a server until the test ends.
func runServer(t testing.TB, server *apiserver.Server) *testServer {
	t.Helper()
	s := runUnready(t, server)
	s.waitReady(t)
	return s
}

// runUnready is runServer for a server that may not become ready.
func runUnready(t testing.TB, server *apiserver.Server) *testServer {
	t.Helper()
	s := &testServer{Server: server, config: clientConfig(server)}
	stop := testkit.Run(t, "the server", server.Run)
	s.stop = func() {
		s.http.CloseIdleConnections()
		stop()
	}
	t.Cleanup(s.stop)
	s.http = testkit.Must(rest.HTTPClientFor(s.config))(t)
	s.client = testkit.Must(dynamic.NewForConfigAndClient(s.config, s.http))(t)
	return s
}

func newServer(ctx context.Context, databaseURL string, change ...func(*apiserver.Options)) (*apiserver.Server, error) {
	config, err := configure(ctx, databaseURL, change...)
	if err != nil {
		return nil, err
	}
	server, err := config.New(ctx)
	if err != nil {
		return nil, errors.Join(err, config.Generic.SecureServing.Listener.Close())
	}
	return server, nil
}

// configure returns the configuration of a server, which listens already.
func configure(ctx context.Context, databaseURL string, change ...func(*apiserver.Options)) (completed apiserver.CompletedConfig, err error) {
	options := apiserver.NewLocalOptions()
	options.Storage.Database = databaseURL
	options.Server.ShutdownWatchTerminationGracePeriod = time.Second
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return completed, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, listener.Close())
		}
	}()
	options.SecureServing.Listener = listener
	for _, f := range change {
		f(options)
	}
	if err := errors.Join(options.Validate()...); err != nil {
		return completed, err
	}
	config, err := options.Complete().Config(ctx)
	if err != nil {
		return completed, err
	}
	config.Generic.Authentication.Authenticator = authenticatorfactory.NewFromTokens(
		map[string]*user.DefaultInfo{
			testToken:  {Name: "tester", Groups: []string{user.AllAuthenticated}},
			plainToken: {Name: "plain", Groups: []string{user.AllAuthenticated}},
		}, nil)
	config.Generic.Authorization.Authorizer = authorizer.AuthorizerFunc(authorize)
	return config.Complete()
}

// authorize allows everything but to import as plain.
func authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == "plain" && !a.IsResourceRequest() && strings.HasPrefix(a.GetPath(), imports.Path) {
		return authorizer.DecisionNoOpinion, "plain", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func listenLoopback(t testing.TB) net.Listener {
	t.Helper()
	listener := testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() }) // Closed by the server, if one ran.
	return listener
}

// anonymousClient trusts the server and has no token.
func anonymousClient(t testing.TB, server *apiserver.Server) *http.Client {
	t.Helper()
	client := testkit.Must(rest.HTTPClientFor(rest.AnonymousClientConfig(server.Generic.LoopbackClientConfig)))(t)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func clientConfig(server *apiserver.Server) *rest.Config {
	config := rest.CopyConfig(server.Generic.LoopbackClientConfig)
	config.BearerToken = testToken
	config.QPS = -1
	config.Timeout = 0
	return config
}

func (s *testServer) waitReady(t testing.TB) {
	t.Helper()
	testkit.Succeeds(t, "the server is ready", func() error {
		response := s.do(t, http.MethodGet, "/readyz?verbose", nil)
		if response.StatusCode != http.StatusOK {
			return errors.New(string(response.body))
		}
		return nil
	})
}

// answer is a response that was read.
type answer struct {
	*http.Response
	body []byte
}

// do sends a request with headers given as "Name: value". A body is JSON unless
// they say otherwise.
func (s *testServer) do(t testing.TB, method, path string, body []byte, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.config.Host+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.http.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return answer{Response: response, body: data}
}

// want fails the test when the answer has another code.
func (a answer) want(t testing.TB, code int) answer {
	t.Helper()
	if a.StatusCode != code {
		t.Fatalf("%s %s: got %s, want %d:\n%.2000s", a.Request.Method, a.Request.URL.Path, a.Status, code, a.body)
	}
	return a
}

// reports is a client for one kind in one namespace.
func (s *testServer) reports(namespace string) dynamic.ResourceInterface {
	return s.client.Resource(policyReports).Namespace(namespace)
}

// path of the policy reports of a namespace, or of one of them.
func reportsPath(namespace, name string) string {
	p := "/apis/wgpolicyk8s.io/v1alpha2/namespaces/" + url.PathEscape(namespace) + "/policyreports"
	if name != "" {
		p += "/" + url.PathEscape(name)
	}
	return p
}

// report makes a policy report with n results.
func report(name string, n int) *unstructured.Unstructured {
	results := make([]any, n)
	for i := range results {
		results[i] = map[string]any{
			"policy": fmt.Sprintf("policy-%d", i), "rule": "check", "result": "fail", "severity": "high", "source": "test",
			"message": "the container runs as root and may write to its file system", "scored": true,
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport",
		"metadata": map[string]any{"name": name},
		"scope":    map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "pod-" + name},
		"summary":  map[string]any{"fail": int64(n)},
		"results":  results,
	}}
}

func labelled(object *unstructured.Unstructured, labels map[string]string) *unstructured.Unstructured {
	object.SetLabels(labels)
	return object
}

func mustCreate(t testing.TB, client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %s: %v", object.GetName(), err)
	}
	return created
}

func mustGet(t testing.TB, client dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := client.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return object
}

func mustUpdate(t testing.TB, client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	updated, err := client.Update(t.Context(), object, metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("update %s: %v", object.GetName(), err)
	}
	return updated
}

func mustDelete(t testing.TB, client dynamic.ResourceInterface, name string) {
	t.Helper()
	if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

func mustList(t testing.TB, client dynamic.ResourceInterface, options metav1.ListOptions) *unstructured.UnstructuredList {
	t.Helper()
	return testkit.Must(client.List(t.Context(), options))(t)
}

func mustWatch(t testing.TB, client dynamic.ResourceInterface, options metav1.ListOptions) watch.Interface {
	t.Helper()
	w := testkit.Must(client.Watch(t.Context(), options))(t)
	t.Cleanup(w.Stop)
	return w
}

func names(list *unstructured.UnstructuredList) []string {
	out := []string{}
	for i := range list.Items {
		out = append(out, list.Items[i].GetName())
	}
	return out
}

// next returns the next event that is no bookmark.
func next(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	for {
		event := nextAny(t, w)
		if event.Type != watch.Bookmark {
			return event
		}
	}
}

func nextAny(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	event, open := testkit.Receive(t, "an event", w.ResultChan())
	if !open {
		t.Fatal("the watch ended")
	}
	return event
}

// wantEvents reads as many events as are wanted, each given as "TYPE name". The last one shows that nothing else came
// before it.
func wantEvents(t testing.TB, w watch.Interface, want ...string) {
	t.Helper()
	for i, expected := range want {
		event := next(t, w)
		got := string(event.Type)
		if object, ok := event.Object.(metav1.Object); ok {
			got += " " + object.GetName()
		} else {
			got += fmt.Sprintf(" %v", event.Object)
		}
		if got != expected {
			t.Fatalf("event %d is %q, want %q", i, got, expected)
		}
	}
}

// databases are the engines that tests run on, by name. Each call gives an empty
// database.
func databases() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string {
			return (&url.URL{Scheme: "sqlite", Path: filepath.Join(t.TempDir(), "docket.db")}).String()
		},
		"postgres": func(t testing.TB) string { return testenv.Postgres(t).Database(t) },
		"etcd":     func(t testing.TB) string { return newEtcd(t).url() },
	}
}

// enginesFor returns the named databases that a test runs on, or all of them if the test names no database. A full run
// uses each. A short run uses one, chosen by the test's name, so that all tests together cover all engines.
func enginesFor(t *testing.T, names ...string) map[string]func(testing.TB) string {
	t.Helper()
	all := databases()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(all))
	}
	if testing.Short() {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(t.Name())) // It never fails.
		chosen := int(hash.Sum32() % uint32(len(names)))
		names = names[chosen : chosen+1]
	}
	maps.DeleteFunc(all, func(name string, _ func(testing.TB) string) bool { return !slices.Contains(names, name) })
	return all
}

// asStatus is errors.As for the interface that carries a Status.
func asStatus(err error, target *apierrors.APIStatus) bool { return errors.As(err, target) }

// isLocked tells an error about a database that another process uses.
func isLocked(err error) bool { return errors.Is(err, engine.ErrLocked) }
