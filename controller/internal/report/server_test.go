// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// server is a real control plane in this process.
type server struct {
	config *rest.Config
	client dynamic.Interface
	remote *remote
}

// startServer returns a server of its own for each test: writers own all reports with their
// label.
func startServer(t *testing.T) *server {
	t.Helper()
	up := &uptest.Server{}
	config, err := up.Config(nil)
	t.Cleanup(func() {
		if err := up.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{config: config}
	s.client = testkit.Must(dynamic.NewForConfig(s.config))(t)
	s.remote = testkit.Must(newRemote(s.config))(t)
	return s
}

func (s *server) namespace(t *testing.T, name string) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	testkit.Must(s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

// reports returns the names of all reports of an API, sorted, cluster-scoped ones first.
func (s *server) reports(t *testing.T, api API) []string {
	t.Helper()
	var names []string
	for _, object := range s.list(t, api) {
		names = append(names, keyOf(object).String())
	}
	return names
}

func (s *server) list(t *testing.T, api API) []report.Accessor {
	t.Helper()
	all := testkit.Must(s.listAll(t.Context(), api))(t)
	slices.SortStableFunc(all, func(a, b report.Accessor) int { return strings.Compare(keyOf(a).String(), keyOf(b).String()) })
	return all
}

func (s *server) listAll(ctx context.Context, api API) ([]report.Accessor, error) {
	var all []report.Accessor
	for _, namespaced := range []bool{false, true} {
		err := s.remote.list(ctx, api, kindOf(api, namespaced), "", func(object report.Accessor) error {
			all = append(all, object)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// results returns what the reports of the APIs, read in this order, say: policy, rule and
// subject.
func (s *server) results(ctx context.Context, apis ...API) (map[string]bool, error) {
	found := map[string]bool{}
	for _, api := range apis {
		all, err := s.listAll(ctx, api)
		if err != nil {
			return nil, err
		}
		for _, object := range all {
			for _, r := range object.GetResults() {
				found[r.Policy+" "+r.Rule+" "+r.Resources[0].Namespace+"/"+r.Resources[0].Name] = true
			}
		}
	}
	return found, nil
}

// policyReports is the client for the namespace that most tests use.
func (s *server) policyReports() dynamic.ResourceInterface {
	return s.client.Resource(kindOf(WGPolicy, true).gvr()).Namespace("default")
}

// gateway is between a writer and its server: it counts writes and can refuse requests.
type gateway struct {
	next http.RoundTripper

	mu     sync.Mutex
	writes []string
	bodies []int
	reads  int
	// refuse answers instead of the server, if it returns something.
	refuse func(*http.Request) (*http.Response, error)
}

func (g *gateway) RoundTrip(request *http.Request) (*http.Response, error) {
	g.mu.Lock()
	refuse := g.refuse
	if request.Method == http.MethodGet {
		g.reads++
	}
	g.mu.Unlock()
	if refuse != nil {
		if response, err := refuse(request); response != nil || err != nil {
			return response, err
		}
	}
	response, err := g.next.RoundTrip(request)
	if err == nil && request.Method != http.MethodGet && response.StatusCode < 300 {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.writes = append(g.writes, request.Method+" "+request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:])
		g.bodies = append(g.bodies, int(request.ContentLength))
	}
	return response, err
}

func (g *gateway) set(refuse func(*http.Request) (*http.Response, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = refuse
}

// taken returns the writes since the last call.
func (g *gateway) taken() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	writes := g.writes
	g.writes, g.bodies = nil, nil
	return writes
}

// through returns a configuration whose requests go through a gateway.
func (s *server) through() (*rest.Config, *gateway) {
	g := &gateway{}
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		g.next = next
		return g
	})
	return config, g
}

func refusal(request *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + string(reason) + `","message":"` + message + `"}`
	return answer(request, code, body)
}

func answer(request *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// world is a layout with a writer to a server.
type world struct {
	*server
	layout  *Layout
	writer  *Writer
	gateway *gateway
}

func (s *server) world(t *testing.T, options Options) *world {
	t.Helper()
	config, g := s.through()
	w := &world{server: s, layout: NewLayout(options), gateway: g}
	w.writer = testkit.Must(NewWriter(Config{Layout: w.layout, REST: config, Gather: time.Second}))(t)
	return w
}

// load is a start of the controller.
func (w *world) load(t *testing.T) {
	t.Helper()
	testkit.NoError(t, w.writer.Load(t.Context()))
}

func (w *world) flush(t *testing.T) {
	t.Helper()
	testkit.NoError(t, w.writer.Flush(t.Context()))
}

// run runs the writer until the test, or what is returned, ends it.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.writer.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (w *world) prune() {
	w.layout.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
}

// idle waits until nothing is to be written.
func (w *world) idle(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "all is written", func() bool {
		n, _ := w.writer.Pending()
		return n == 0
	})
}
