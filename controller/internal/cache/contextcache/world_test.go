// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"sigs.k8s.io/yaml"

	"github.com/kyverno/go-jmespath"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// patience is for a slow machine; nothing waits that long if all is well.
const patience = testkit.Patience

var (
	configMaps    = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces    = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds          = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	ingresses     = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	cachedEntries = schema.GroupVersionResource{Group: "kyverno.io", Version: "v2alpha1", Resource: "cachedcontextentries"}
	globalEntries = schema.GroupVersionResource{Group: "kyverno.io", Version: "v2beta1", Resource: "globalcontextentries"}
)

// shared is the one control plane of all tests: each has entries with a label of its own, which are
// all that its caches see.
var shared = &uptest.Server{}

// server is the way to it.
type server struct {
	config *rest.Config
	client dynamic.Interface
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of the time they wait.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(uptest.Run(m, shared))
}

func newServer(config *rest.Config) (*server, error) {
	client, err := dynamic.NewForConfig(config)
	return &server{config: config, client: client}, err
}

// defineKinds makes the kinds of entries.
func defineKinds(ctx context.Context, config *rest.Config) error {
	s, err := newServer(config)
	if err != nil {
		return err
	}
	return s.defineAll(ctx)
}

func (s *server) defineAll(ctx context.Context) error {
	text, err := os.ReadFile("../../../../deploy/chart/controller/contextcache/cachedcontextentries.yaml")
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, definition); err != nil {
		return err
	}
	global := customKind("kyverno.io", "GlobalContextEntry", "globalcontextentries", "Cluster", "v2", "v2beta1")
	for _, object := range []*unstructured.Unstructured{definition, global} {
		if _, err := s.client.Resource(crds).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, gvr := range []schema.GroupVersionResource{cachedEntries, globalEntries} {
		if err := s.awaitKind(ctx, gvr); err != nil {
			return err
		}
	}
	return nil
}

// customKind returns the definition of a kind; the last version is the stored one.
func customKind(group, kind, plural, scope string, versions ...string) *unstructured.Unstructured {
	list := make([]any, 0, len(versions))
	status := map[string]any{"type": "object", "properties": map[string]any{
		"conditions":      map[string]any{"type": "array", "items": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"lastRefreshTime": map[string]any{"type": "string", "format": "date-time"},
	}}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	properties := map[string]any{"spec": open}
	if kind == policy.GlobalContextEntry {
		properties["status"] = status
	}
	for i, version := range versions {
		list = append(list, map[string]any{
			"name": version, "served": true, "storage": i == len(versions)-1,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": properties}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": scope, "versions": list,
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind), "shortNames": []any{"t" + plural[:2]}},
		},
	}}
}

// awaitKind returns when a kind is served.
func (s *server) awaitKind(ctx context.Context, gvr schema.GroupVersionResource) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := s.client.Resource(gvr).List(ctx, metav1.ListOptions{})
		return err == nil, nil // Not yet.
	})
}

// world is what one test has: a namespace, and entries that no other test sees.
type world struct {
	*server
	// name is the name of the namespace, and the label of the entries.
	name string
	gate *gate
	// events are those about entries.
	events *record.FakeRecorder
	// metrics belong to the caches of this test; registry has them.
	metrics  *contextcache.Metrics
	registry metrics.KubeRegistry
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	config := testkit.Must(shared.Config(defineKinds))(tb)
	server := testkit.Must(newServer(config))(tb)
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(tb.Name()))
	name = strings.TrimRight(name[:min(len(name), 60)], "-")
	w := &world{
		server: server, name: name, gate: &gate{label: name}, events: record.NewFakeRecorder(100),
		metrics: contextcache.NewMetrics(), registry: metrics.NewKubeRegistry(),
	}
	w.registry.MustRegister(w.metrics.All()...)
	w.create(tb, namespaces, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.name},
	}})
	return w
}

// gate is between a cache and the server.
type gate struct {
	label string

	mu sync.Mutex
	// refuse returns an error that is answered instead of what the server would say, or nil.
	refuse func(*http.Request) error
	// watches end with the object that they are called for.
	watches map[int]*cut
	next    int
}

type cut struct {
	path   string
	cancel context.CancelFunc
}

// set has requests refused from now on, and ends the watches of paths with this part.
func (g *gate) set(part string, refuse func(*http.Request) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = func(r *http.Request) error {
		if refuse == nil || !strings.Contains(r.URL.Path, part) {
			return nil
		}
		return refuse(r)
	}
	for id, c := range g.watches {
		if strings.Contains(c.path, part) {
			c.cancel()
			delete(g.watches, id)
		}
	}
}

func (g *gate) wrap(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(original *http.Request) (*http.Response, error) {
		r, refuse := g.admit(original)
		if refuse != nil {
			if err := refuse(r); err != nil {
				return answerOf(r, err)
			}
		}
		if strings.HasSuffix(r.URL.Path, "contextentries") {
			query := r.URL.Query()
			query.Set("labelSelector", "test="+g.label)
			r = r.Clone(r.Context())
			r.URL.RawQuery = query.Encode()
		}
		response, err := inner.RoundTrip(r)
		switch {
		case err == nil:
			response.Body = cutBody{response.Body, r.Context()}
		case r.Context().Err() != nil && original.Context().Err() == nil:
			return g.wrap(inner).RoundTrip(original) // A watch that set has ended before it was open: it gets the new answer.
		}
		return response, err
	})
}

// admit returns what may refuse a request. A watch is one that set ends from then on.
func (g *gate) admit(r *http.Request) (*http.Request, func(*http.Request) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if watch := r.URL.Query().Get("watch"); watch != "true" && watch != "1" {
		return r, g.refuse
	}
	ctx, cancel := context.WithCancel(r.Context())
	if g.watches == nil {
		g.watches = map[int]*cut{}
	}
	g.next++
	g.watches[g.next] = &cut{r.URL.Path, cancel}
	return r.WithContext(ctx), g.refuse
}

// cutBody brings nothing any more once its request was ended: the transport may notice that later.
type cutBody struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // That of the request.
}

func (b cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return n, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answerOf returns the answer that stands for an error of the API; other errors are of the network.
func answerOf(r *http.Request, err error) (*http.Response, error) {
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) {
		return nil, err
	}
	answer := refused.ErrStatus
	answer.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(answer.Code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(text))), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// always refuses all requests.
func always(err error) func(*http.Request) error {
	return func(*http.Request) error { return err }
}

func forbidden(resource schema.GroupVersionResource) error {
	return apierrors.NewForbidden(resource.GroupResource(), "", errors.New("the test says so"))
}

func engine() *table.Engine { return table.NewEngine(jmespath.NewFunctionCaller()) }

// cache starts a cache that ends with the test.
func (w *world) cache(tb testing.TB, change ...func(*contextcache.Config)) *contextcache.Cache {
	tb.Helper()
	config := rest.CopyConfig(w.config)
	config.Wrap(w.gate.wrap)
	client := testkit.Must(dynamic.NewForConfig(config))(tb)
	kinds := testkit.Must(discovery.NewDiscoveryClientForConfig(config))(tb)
	watcher := served.NewWatcher(served.Config{Discovery: kinds, Interval: 100 * time.Millisecond})
	settings := contextcache.Config{Client: client, REST: kinds.RESTClient(), Served: watcher, Engine: engine(), Metrics: w.metrics}
	for _, c := range change {
		c(&settings)
	}
	cache := testkit.Must(contextcache.New(settings))(tb)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx) })
	running.Go(func() {
		if err := cache.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	running.Go(func() {
		if err := cache.MaintainStatus(ctx, w.events); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return cache
}

func (w *world) at(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.client.Resource(gvr)
	}
	return w.client.Resource(gvr).Namespace(namespace)
}

// create writes an object that is deleted when the test ends, if not before.
func (w *world) create(tb testing.TB, gvr schema.GroupVersionResource, object *unstructured.Unstructured) {
	tb.Helper()
	testkit.Must(w.at(gvr, object.GetNamespace()).Create(tb.Context(), object, metav1.CreateOptions{}))(tb)
	tb.Cleanup(func() {
		err := w.at(gvr, object.GetNamespace()).Delete(context.WithoutCancel(tb.Context()), object.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			tb.Error(err)
		}
	})
}

func (w *world) configMap(tb testing.TB, name string, data map[string]any) {
	tb.Helper()
	w.create(tb, configMaps, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": w.name, "labels": map[string]any{"l": name}}, "data": data,
	}})
}

// entry writes an entry whose spec is YAML. Its name has that of the test.
func (w *world) entry(tb testing.TB, gvr schema.GroupVersionResource, name, spec string) policy.Entry {
	tb.Helper()
	kind := policy.CachedContextEntry
	if gvr == globalEntries {
		kind = policy.GlobalContextEntry
	}
	w.create(tb, gvr, w.entryObject(tb, gvr, kind, name, spec))
	return policy.Entry{Kind: kind, Name: w.name + "-" + name}
}

func (w *world) entryObject(tb testing.TB, gvr schema.GroupVersionResource, kind, name, spec string) *unstructured.Unstructured {
	tb.Helper()
	var fields map[string]any
	testkit.NoError(tb, yaml.Unmarshal([]byte(spec), &fields))
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": kind, "spec": fields,
		"metadata": map[string]any{"name": w.name + "-" + name, "labels": map[string]any{"test": w.name}},
	}}
}
