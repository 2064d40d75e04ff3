// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// fakeCluster speaks the protocol of a kube-apiserver, as far as a gateway sees it.
type fakeCluster struct {
	server *httptest.Server

	mu sync.Mutex
	// users by token, and by common name of a client certificate.
	users map[string]authenticationv1.UserInfo
	// allow answers access reviews; nil allows everything to everybody.
	allow func(user authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool
	// groups is what is served, as "group/version" in order.
	groups []string
	// away makes every answer an error.
	away bool
	// namespaces that exist; true for those that are being deleted.
	namespaces map[string]bool
	// uids of namespaces, and who may see namespaces; nil for everybody.
	uids       map[string]string
	readers    []string
	seen       []seenRequest
	discovered int
	// frozen holds every request until it is closed; nil for none.
	frozen chan struct{}
}

// seenRequest is a request as the cluster saw it.
type seenRequest struct {
	method, path, query, user, protocol string
	header                              http.Header
}

func newCluster(t testing.TB) *fakeCluster {
	t.Helper()
	c := &fakeCluster{
		users: map[string]authenticationv1.UserInfo{
			"alice-token":   {Username: "alice", UID: "1", Groups: []string{"dev", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"example.com/Team": {"a b"}}},
			"bob-token":     {Username: "bob", Groups: []string{"system:authenticated"}},
			"root-token":    {Username: "root", Groups: []string{"system:masters", "system:authenticated"}},
			"robot-token":   {Username: "system:serviceaccount:ns:robot", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}},
			"node-token":    {Username: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}},
			"gateway-token": {Username: "system:serviceaccount:docket:gateway", Groups: []string{"reviewers", "impersonators", "system:authenticated"}},
		},
		groups:     []string{"apps/v1", "batch/v1", registrationGroup + "/v1", "example.com/v1"},
		namespaces: map[string]bool{"default": false},
	}
	c.server = httptest.NewUnstartedServer(c)
	c.server.EnableHTTP2 = true
	c.server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	c.server.StartTLS()
	t.Cleanup(func() {
		c.server.CloseClientConnections()
		c.server.Close()
	})
	return c
}

// change changes the cluster.
func (c *fakeCluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// freeze has the cluster take requests and answer none until resume is called.
func (c *fakeCluster) freeze() (resume func()) {
	frozen := make(chan struct{})
	c.change(func() { c.frozen = frozen })
	return sync.OnceFunc(func() {
		c.change(func() { c.frozen = nil })
		close(frozen)
	})
}

// config is a kubeconfig with a token.
func (c *fakeCluster) config(token string) *rest.Config {
	return &rest.Config{Host: c.server.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw}),
	}}
}

// requests returns those that were seen with a path.
func (c *fakeCluster) requests(path string) []seenRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []seenRequest
	for _, r := range c.seen {
		if r.path == path {
			found = append(found, r)
		}
	}
	return found
}

// who authenticates a request, impersonation included.
func (c *fakeCluster) who(r *http.Request) (authenticationv1.UserInfo, bool) {
	who := authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}
	ok := true
	if len(r.TLS.PeerCertificates) > 0 {
		who, ok = c.users[r.TLS.PeerCertificates[0].Subject.CommonName]
	} else if token := bearerToken(r); token != "" {
		who, ok = c.users[token]
	}
	if name := r.Header.Get("Impersonate-User"); ok && name != "" {
		if !slices.Contains(who.Groups, "impersonators") {
			return who, false
		}
		who = authenticationv1.UserInfo{Username: name, UID: r.Header.Get("Impersonate-Uid"), Groups: append(r.Header.Values("Impersonate-Group"), "system:authenticated")}
	}
	return who, ok
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	who, ok := c.who(r)
	if r.URL.Path == "/apis" {
		c.discovered++
	}
	c.seen = append(c.seen, seenRequest{
		method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, user: who.Username, header: r.Header.Clone(), protocol: r.Proto,
	})
	away, frozen := c.away, c.frozen
	c.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-r.Context().Done():
		}
	}
	switch {
	case away:
		http.Error(w, "the load balancer has no backend", http.StatusBadGateway)
	case !ok:
		fail(w, r, unauthorized("unknown credentials"))
	default:
		w.Header().Set("Audit-Id", "audit-of-the-cluster")
		c.serve(w, r, who)
	}
}

func (c *fakeCluster) serve(w http.ResponseWriter, r *http.Request, who authenticationv1.UserInfo) {
	switch path := r.URL.Path; {
	case path == "/apis":
		c.serveDiscovery(w, r)
	case strings.HasPrefix(path, "/openapi/"):
		c.serveOpenAPI(w, r)
	case strings.HasSuffix(path, "reviews"):
		c.serveReview(w, r, who)
	case path == "/version":
		_, _ = io.WriteString(w, "{\"gitVersion\":\"v1.36.0-of-the-cluster\"}")
	case path == "/redirect":
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	case strings.HasSuffix(path, "/exec"):
		serveEcho(w, r)
	case r.URL.Query().Get("watch") != "":
		serveTicks(w, r)
	case strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Count(path, "/") == 4:
		c.serveNamespace(w, r, who, strings.TrimPrefix(path, "/api/v1/namespaces/"))
	case c.servesVersion(path):
		writeAny(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(path, "/apis/"), APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Namespaced: true, Verbs: []string{"get", "list"}}}})
	case strings.HasPrefix(path, "/apis/gone.example.com/"):
		http.NotFound(w, r)
	default:
		writeAny(w, map[string]string{"servedBy": "cluster", "user": who.Username, "path": path})
	}
}

// encode ends the connection when the client has left.
func encode(w io.Writer, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func writeAny(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	encode(w, object)
}

func (c *fakeCluster) servesVersion(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.groups, strings.TrimPrefix(path, "/apis/"))
}

func (c *fakeCluster) serveNamespace(w http.ResponseWriter, r *http.Request, who authenticationv1.UserInfo, name string) {
	c.mu.Lock()
	ending, ok := c.namespaces[name]
	uid, may := c.uids[name], c.readers == nil || slices.Contains(c.readers, who.Username)
	c.mu.Unlock()
	if !may {
		fail(w, r, forbidden("%s may not get namespaces", who.Username))
		return
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		encode(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404, Details: &metav1.StatusDetails{Kind: "namespaces", Name: name}})
		return
	}
	meta := map[string]any{"name": name, "uid": uid}
	if ending {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	writeAny(w, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
}

func (c *fakeCluster) serveReview(w http.ResponseWriter, r *http.Request, who authenticationv1.UserInfo) {
	body, _ := io.ReadAll(r.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if who.Username == "system:anonymous" {
		fail(w, r, forbidden("nobody may ask"))
		return
	}
	allow := func(who authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool {
		return c.allow == nil || c.allow(who, spec)
	}
	switch review := object.(type) {
	case *authenticationv1.SelfSubjectReview:
		review.Status.UserInfo = who
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status.Allowed = allow(who, review.Spec)
	case *authenticationv1.TokenReview:
		if !slices.Contains(who.Groups, "reviewers") {
			fail(w, r, forbidden("%s may not create tokenreviews", who.Username))
			return
		}
		review.Status.User, review.Status.Authenticated = c.users[review.Spec.Token], c.users[review.Spec.Token].Username != ""
	case *authorizationv1.SubjectAccessReview:
		if !slices.Contains(who.Groups, "reviewers") {
			fail(w, r, forbidden("%s may not create subjectaccessreviews", who.Username))
			return
		}
		review.Status.Allowed = allow(authenticationv1.UserInfo{Username: review.Spec.User, Groups: review.Spec.Groups},
			authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: review.Spec.ResourceAttributes, NonResourceAttributes: review.Spec.NonResourceAttributes})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	encode(w, object)
}

func (c *fakeCluster) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tag := fmt.Sprintf("%q", strings.Join(c.groups, ","))
	byGroup := map[string]*apidiscovery.APIGroupDiscovery{}
	var order []string
	for _, served := range c.groups {
		gv, _ := schema.ParseGroupVersion(served)
		if byGroup[gv.Group] == nil {
			byGroup[gv.Group] = &apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group}}
			order = append(order, gv.Group)
		}
		byGroup[gv.Group].Versions = append(byGroup[gv.Group].Versions, apidiscovery.APIVersionDiscovery{
			Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent,
			Resources: []apidiscovery.APIResourceDiscovery{{
				Resource: "things", SingularResource: "thing", Scope: apidiscovery.ScopeNamespace, Verbs: []string{"get", "list"},
				ResponseKind: &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: "Thing"},
			}},
		})
	}
	w.Header().Set("Etag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	list := apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, name := range order {
		list.Items = append(list.Items, *byGroup[name])
	}
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	encode(w, list)
}

func (c *fakeCluster) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	groups := slices.Clone(c.groups)
	c.mu.Unlock()
	paths := map[string]any{}
	switch path := r.URL.Path; path {
	case "/openapi/v2":
		paths["/api/v1/pods"] = openAPIPath("core")
		for _, gv := range groups {
			paths["/apis/"+gv+"/things"] = openAPIPath("cluster")
		}
		paths["/apis/"+registrationGroup+"/v1/apiservices"] = openAPIPath("cluster")
		paths["/apis/"+registrationGroup+"/"] = openAPIPath("cluster")
		tag := fmt.Sprintf("%q", strings.Join(groups, ",")+"v2")
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		writeAny(w, map[string]any{"swagger": "2.0", "info": map[string]string{"title": "cluster", "version": "1"}, "paths": paths})
	case "/openapi/v3":
		for _, gv := range append(groups, "") {
			name := strings.TrimSuffix("apis/"+gv, "/")
			if gv == "" {
				name = "api/v1"
			}
			paths[name] = map[string]string{"serverRelativeURL": "/openapi/v3/" + name + "?hash=C"}
		}
		writeAny(w, map[string]any{"paths": paths})
	default:
		writeAny(w, map[string]any{"openapi": "3.0.0", "info": map[string]string{"title": "of the cluster", "version": path}})
	}
}

func openAPIPath(by string) any {
	return map[string]any{"get": map[string]any{"description": "served by " + by, "operationId": by, "responses": map[string]any{"200": map[string]string{"description": "OK"}}}}
}

// serveTicks sends a line for each line of a channel-less clock: one at once, then
// silence until the client leaves.
func serveTicks(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{\"type\":\"BOOKMARK\"}\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// serveEcho upgrades to the requested protocol, and sends back everything that it receives.
func serveEcho(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		fail(w, r, forbidden("upgrade required"))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	protocol := ""
	for _, p := range protocols(r.Header) {
		if !strings.HasPrefix(p, tokenProtocol) {
			protocol = p
		}
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n", r.Header.Get("Upgrade"), protocol)
	line, err := buffered.ReadString('\n')
	for ; err == nil; line, err = buffered.ReadString('\n') {
		_, _ = io.WriteString(conn, "echo "+line)
	}
}

// readLine reads with a limit on what a broken server could send.
func readLine(r io.Reader) (string, error) {
	return bufio.NewReader(io.LimitReader(r, 1<<16)).ReadString('\n')
}
