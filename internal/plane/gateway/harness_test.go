// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/store/database"
)

// soon is for things that happen at once on an idle machine.
const soon = 2 * time.Minute

// running is a gateway in this process.
type running struct {
	*Server
	t   testing.TB
	url string
	ca  *certificate.Pair
	// token is the owner's.
	token string
	proxy *statedir.ProxyCertificate
	stop  func()
}

// start runs a gateway in front of a cluster until the test ends.
func start(t testing.TB, config *rest.Config, change ...func(*Config)) *running {
	t.Helper()
	g := startUnready(t, config, change...)
	g.eventually("the gateway is ready", func() error {
		code, body := g.get("/readyz?verbose", "")
		if code != http.StatusOK {
			return fmt.Errorf("%d: %s", code, body)
		}
		return nil
	})
	return g
}

func startUnready(t testing.TB, cluster *rest.Config, change ...func(*Config)) *running {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	held, err := statedir.Open(filepath.Join(dir, "state"))
	must(err)
	place, err := statedir.Listen(t.Context(), "127.0.0.1:0", false)
	must(err)
	ca, serving, err := held.Certificates(place.Hosts, time.Now())
	must(err)
	proxy, err := held.ProxyCertificate(proxyName, time.Now())
	must(err)
	token, err := held.Token()
	must(err)
	content, err := dynamiccertificates.NewStaticCertKeyContent("test", serving.CertificatePEM, serving.KeyPEM)
	must(err)
	config := Config{
		Identity: Identity{Endpoint: place, CA: ca, Serving: content, Proxy: proxy, Token: token}, Cluster: cluster, Profile: ProfileSingleUser,
		DatabaseURL: "sqlite://" + filepath.Join(held.Dir, "docket.db"), Database: database.Options{Cluster: "test"},
		DiscoveryInterval: 50 * time.Millisecond, NamespaceInterval: 50 * time.Millisecond, Clock: clock.RealClock{},
	}
	for _, f := range change {
		f(&config)
	}
	server, err := New(t.Context(), config)
	must(err)
	g := &running{Server: server, t: t, url: place.URL, ca: ca, token: token, proxy: proxy}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the gateway: %v", err)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(g.stop)
	return g
}

func (g *running) eventually(what string, f func() error) {
	g.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, soon, true, func(context.Context) (bool, error) {
		last = f()
		return last == nil, nil
	})
	if err != nil {
		g.t.Fatalf("%s: not within %s: %v", what, soon, last)
	}
}

// config returns the configuration of a client with a token.
func (g *running) config(token string) *rest.Config {
	return &rest.Config{Host: g.url, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: g.ca.CertificatePEM}}
}

func (g *running) tls() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(g.ca.Certificate)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// do makes a request, with headers of the form "Name: value".
func (g *running) do(method, path, token string, headers ...string) *answer {
	g.t.Helper()
	return g.doWith(g.tls(), method, path, token, nil, headers...)
}

func (g *running) doWith(config *tls.Config, method, path, token string, body io.Reader, headers ...string) *answer {
	g.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, g.url+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	g.t.Cleanup(func() { _ = response.Body.Close() })
	return &answer{response.StatusCode, response.Header, response.Body}
}

// get returns the code and the body of an answer; the owner's token is used for "".
func (g *running) get(path, token string, headers ...string) (int, string) {
	g.t.Helper()
	if token == "" {
		token = g.token
	}
	return read(g.t, g.do(http.MethodGet, path, token, headers...))
}

// answer is a response whose body is closed at the end of the test.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func read(t testing.TB, response *answer) (int, string) {
	t.Helper()
	body := testkit.Must(io.ReadAll(io.LimitReader(response.Body, 1<<24)))(t)
	return response.StatusCode, string(body)
}

// wantStatus checks that an answer is a Status with a code and words.
func wantStatus(t testing.TB, response *answer, code int, words ...string) {
	t.Helper()
	got, body := read(t, response)
	var status metav1.Status
	if err := json.Unmarshal([]byte(body), &status); err != nil || status.Kind != "Status" || got != code || int(status.Code) != code {
		t.Fatalf("got %d and %q, want a Status with %d", got, body, code)
	}
	for _, word := range words {
		if !strings.Contains(status.Message, word) {
			t.Errorf("the message %q does not say %q", status.Message, word)
		}
	}
}

// extension is an extension server with one group version.
type extension struct {
	server *httptest.Server
	ca     *certificate.Pair
	gv     string

	mu      sync.Mutex
	seen    []seenRequest
	objects map[string]bool // namespace/name
	down    bool
}

func newExtension(t testing.TB, gv string, g *running) *extension {
	t.Helper()
	ca := testkit.Must(certificate.NewAuthority("extension", time.Now(), time.Hour))(t)
	serving := testkit.Must(certificate.NewServing(ca, []string{"ext.default.svc"}, time.Now(), time.Hour))(t)
	pair := testkit.Must(tls.X509KeyPair(serving.CertificatePEM, serving.KeyPEM))(t)
	e := &extension{ca: ca, gv: gv, objects: map[string]bool{}}
	trusted := x509.NewCertPool()
	trusted.AddCert(g.proxy.CA.Certificate)
	e.server = httptest.NewUnstartedServer(e)
	e.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS12}
	e.server.StartTLS()
	t.Cleanup(func() {
		e.server.CloseClientConnections()
		e.server.Close()
	})
	return e
}

func (e *extension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	group, version, _ := strings.Cut(e.gv, "/")
	if e.down {
		http.Error(w, "the database is away", http.StatusServiceUnavailable)
		return
	}
	if user := r.Header.Get("X-Remote-User"); user != prober && user != "system:apiserver" && !strings.HasPrefix(r.URL.Path, "/openapi") {
		e.seen = append(e.seen, seenRequest{method: r.Method, path: r.URL.Path, user: user, header: r.Header.Clone()})
	}
	resource := metav1.APIResource{Name: "widgets", SingularName: "widget", Kind: "Widget", Namespaced: true, Verbs: []string{"get", "list", "delete", "deletecollection"}}
	switch path := r.URL.Path; {
	case path == "/apis/"+e.gv:
		writeAny(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: e.gv, APIResources: []metav1.APIResource{resource}})
	case path == "/openapi/v2":
		writeAny(w, map[string]any{"swagger": "2.0", "info": map[string]string{"title": "ext", "version": "1"}, "paths": map[string]any{"/apis/" + e.gv + "/things": openAPIPath("extension")}})
	case path == "/openapi/v3":
		writeAny(w, map[string]any{"paths": map[string]any{"apis/" + e.gv: map[string]string{"serverRelativeURL": "/openapi/v3/apis/" + e.gv + "?hash=E"}}})
	case path == "/openapi/v3/apis/"+e.gv:
		writeAny(w, map[string]any{"openapi": "3.0.0", "info": map[string]string{"title": "of the extension", "version": "1"}, "paths": map[string]any{"/apis/" + e.gv + "/things": openAPIPath("extension")}})
	case strings.HasSuffix(path, "/widgets"):
		e.serveWidgets(w, r, group, version)
	case r.Method == http.MethodDelete:
		parts := strings.Split(path, "/")
		delete(e.objects, parts[len(parts)-3]+"/"+parts[len(parts)-1])
		writeAny(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})
	case path == "/apis":
		http.NotFound(w, r)
	default:
		writeAny(w, map[string]string{"servedBy": "extension", "user": r.Header.Get("X-Remote-User"), "path": path})
	}
}

// serveWidgets lists and deletes the objects.
func (e *extension) serveWidgets(w http.ResponseWriter, r *http.Request, group, version string) {
	in := ""
	if _, rest, found := strings.Cut(r.URL.Path, "/namespaces/"); found {
		in, _, _ = strings.Cut(rest, "/")
	}
	items := []any{}
	for key := range e.objects {
		namespace, name, _ := strings.Cut(key, "/")
		if in != "" && namespace != in {
			continue
		}
		if r.Method == http.MethodDelete {
			delete(e.objects, key)
			continue
		}
		items = append(items, map[string]any{"apiVersion": group + "/" + version, "kind": "Widget", "metadata": map[string]string{"namespace": namespace, "name": name}})
	}
	writeAny(w, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]string{"resourceVersion": "1"}, "items": items})
}

func (e *extension) requests() []seenRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]seenRequest{}, e.seen...)
}

func (e *extension) setDown(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

func (e *extension) put(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.objects[key] = true
}

func (e *extension) has(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objects[key]
}

// manifest is the registration of the server.
func (e *extension) manifest() *apiregistrationv1.APIService {
	group, version, _ := strings.Cut(e.gv, "/")
	return &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group, Annotations: map[string]string{"docket.dev/endpoint": e.server.URL}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: version, GroupPriorityMinimum: 1000, VersionPriority: 15, CABundle: e.ca.CertificatePEM,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "ext"},
		},
	}
}

// register registers a server and waits until it is asked.
func (g *running) register(e *extension) {
	g.t.Helper()
	client, err := clientset.NewForConfig(unlimited(g.Loopback))
	if err != nil {
		g.t.Fatal(err)
	}
	services := client.ApiregistrationV1().APIServices()
	name := e.manifest().Name
	g.eventually("register "+name, func() error {
		have, err := services.Get(g.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			_, err = services.Create(g.t.Context(), e.manifest(), metav1.CreateOptions{})
			return err
		}
		want := e.manifest()
		want.ResourceVersion = have.ResourceVersion
		_, err = services.Update(g.t.Context(), want, metav1.UpdateOptions{})
		return err
	})
	g.eventually(name+" is available", func() error {
		have, err := services.Get(g.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range have.Status.Conditions {
			if condition.Type == apiregistrationv1.Available && condition.Status == apiregistrationv1.ConditionTrue {
				_, remote, _ := g.owner(groupVersionFor(e.gv))
				if !remote {
					return fmt.Errorf("%s is not remote yet", e.gv)
				}
				return nil
			}
		}
		return fmt.Errorf("conditions: %+v", have.Status.Conditions)
	})
	// The proxy follows APIServices by itself, and may be a moment behind.
	g.eventually(name+" is passed on", func() error {
		err := client.Discovery().RESTClient().Get().AbsPath("/apis/" + e.gv).Do(g.t.Context()).Error()
		if apierrors.IsServiceUnavailable(err) {
			return err
		}
		return nil
	})
}

func groupVersionFor(text string) schema.GroupVersion {
	group, version, _ := strings.Cut(text, "/")
	return schema.GroupVersion{Group: group, Version: version}
}
