// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

type (
	groupVersion        = schema.GroupVersion
	apiServiceCondition = apiregistrationv1.APIServiceCondition
)

const execPath = "/api/v1/namespaces/default/pods/p/exec"

func serveOne(t *testing.T, handler http.Handler, path string) int {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code
}

// dialUpgrade asks for an upgrade, and returns the connection when it is granted.
func dialUpgrade(t *testing.T, g *running, upgrade string, headers ...string) net.Conn {
	t.Helper()
	config := g.tls()
	config.NextProtos = []string{"http/1.1"}
	conn := testkit.Must((&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "https://")))(t)
	t.Cleanup(func() { _ = conn.Close() })
	testkit.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	lines := append([]string{"Host: gateway", "Connection: Upgrade", "Upgrade: " + upgrade, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}, headers...)
	testkit.Must(fmt.Fprintf(conn, "POST %s?command=sh HTTP/1.1\r\n%s\r\n\r\n", execPath, strings.Join(lines, "\r\n")))(t)
	answer := readHeader(t, conn)
	if !strings.HasPrefix(answer, "HTTP/1.1 101") {
		t.Fatalf("the answer is %q", answer)
	}
	return conn
}

// readHeader reads up to the empty line, and no byte more.
func readHeader(t *testing.T, conn net.Conn) string {
	t.Helper()
	var got []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(got), "\r\n\r\n"); got = append(got, one...) {
		if _, err := io.ReadFull(conn, one); err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
	}
	return string(got)
}

func wantEcho(t *testing.T, g *running, upgrade string, headers ...string) {
	t.Helper()
	conn := dialUpgrade(t, g, upgrade, headers...)
	for _, word := range []string{"one", "two"} {
		testkit.Must(fmt.Fprintln(conn, word))(t)
		want := "echo " + word + "\n"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

// TestUpgrades: streams of exec, attach and port-forward pass in both directions, as SPDY
// and as WebSocket, over a connection of HTTP/1.1.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	for _, upgrade := range []string{"SPDY/3.1", "websocket"} {
		wantEcho(t, g, upgrade, "Authorization: Bearer "+g.token)
	}
	for _, seen := range cluster.requests(execPath) {
		if seen.protocol != "HTTP/1.1" || seen.user != "alice" || seen.method != http.MethodPost {
			t.Errorf("the cluster saw %+v", seen)
		}
	}
}

// TestStreamsEndWithTheGateway: watches and upgraded connections do not hold it back.
func TestStreamsEndWithTheGateway(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	conn := dialUpgrade(t, g, "SPDY/3.1", "Authorization: Bearer "+g.token)
	watch := g.do(http.MethodGet, "/api/v1/pods?watch=true", g.token)
	testkit.Must(readLine(watch.Body))(t)
	ended := make(chan struct{})
	go func() { defer close(ended); g.stop() }()
	select {
	case <-ended:
	case <-time.After(soon):
		t.Fatal("the gateway does not end")
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the upgraded connection is still there")
	}
}

// TestWatchIsFlushed: an event arrives at once, though the stream goes on.
func TestWatchIsFlushed(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	for _, path := range []string{"/api/v1/pods?watch=true", "/api/v1/pods?watch=1&timeoutSeconds=600"} {
		response := g.do(http.MethodGet, path, g.token)
		if line, err := readLine(response.Body); err != nil || !strings.Contains(line, "BOOKMARK") {
			t.Errorf("%q, %v", line, err)
		}
	}
	for _, seen := range cluster.requests("/api/v1/pods") {
		if seen.protocol != "HTTP/2.0" {
			t.Errorf("a watch went over %s: thousands would need as many connections", seen.protocol)
		}
	}
}

// TestHeadersToTheCluster: nothing from outside makes the cluster believe more than the
// caller's own credentials and address; what is between caller and cluster passes.
func TestHeadersToTheCluster(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.change(func() { cluster.users["boss-token"] = authBoss() })
	for profile, want := range map[string]string{ProfileSingleUser: "Bearer boss-token", ProfileToken: "Bearer alice-token"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			g := start(t, cluster.config("boss-token"), func(c *Config) { c.Profile = profile })
			token := "alice-token"
			if profile == ProfileSingleUser {
				token = g.token
			}
			path := "/api/v1/" + profile
			response := g.do(http.MethodGet, path, token, "X-Remote-User: root", "X-Remote-Group: system:masters", "X-Remote-Extra-A: b",
				"X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4", "X-Real-Ip: 1.2.3.4", "X_Forwarded_For: 1.2.3.4", "Accept-Encoding: gzip", "User-Agent: kubectl/v1", "Audit-Id: mine")
			if code, body := read(t, response); code != http.StatusOK {
				t.Fatalf("%d %s", code, body)
			}
			if got := response.Header.Get("Audit-Id"); got != "audit-of-the-cluster" {
				t.Errorf("Audit-Id is %q", got)
			}
			seen := cluster.requests(path)[0].header
			wanted := map[string]string{
				"Authorization": want, "Accept-Encoding": "gzip", "User-Agent": "kubectl/v1", "Audit-Id": "mine",
				"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": strings.TrimPrefix(g.url, "https://"), "X-Forwarded-Proto": "https", "X-Forwarded-Uri": path,
			}
			for name := range seen {
				if strings.HasPrefix(name, "X") && wanted[name] == "" || name == "Forwarded" || strings.HasPrefix(name, "Impersonate-") {
					t.Errorf("the cluster saw %s", name)
				}
			}
			for name, want := range wanted {
				if got := seen.Get(name); got != want {
					t.Errorf("the cluster saw %s %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestImpersonationIsTheClustersToAllow: a caller's own Impersonate-* headers go to the
// cluster, which decides, and decides for extension servers as well.
func TestImpersonationIsTheClustersToAllow(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.change(func() { cluster.users["boss-token"] = authBoss() })
	g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile = ProfileToken })
	extension := newExtension(t, "new.example.com/v1", g)
	g.register(extension)
	for _, path := range []string{"/api/v1/pods", "/apis/new.example.com/v1/things"} {
		if code, body := g.get(path, "boss-token", "Impersonate-User: carol"); code != http.StatusOK || !strings.Contains(body, "\"carol\"") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	seen := len(extension.requests())
	cluster.change(func() { cluster.allow = denyImpersonation })
	for _, path := range []string{"/api/v1/pods", "/apis/new.example.com/v1/things"} {
		if code, body := g.get(path, "bob-token", "Impersonate-User: carol"); code != http.StatusUnauthorized && code != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if more := len(extension.requests()); more != seen {
		t.Error("the extension server was asked by somebody who must not be carol")
	}
}

// TestKubeconfigOfSomebodyElse: with a kubeconfig that acts as carol, nobody is more than carol, whatever headers
// they send.
func TestKubeconfigOfSomebodyElse(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	config := cluster.config("gateway-token")
	config.Impersonate.UserName = "carol"
	g := start(t, config)
	extension := newExtension(t, "new.example.com/v1", g)
	g.register(extension)
	seen := len(extension.requests())
	for _, path := range []string{"/api/v1/pods", "/apis/new.example.com/v1/things"} {
		if code, body := g.get(path, ""); path == "/api/v1/pods" && (code != http.StatusOK || !strings.Contains(body, "\"carol\"")) {
			t.Errorf("%s: %d %s", path, code, body)
		}
		for _, header := range []string{"Impersonate-User: boss", "impersonate-uid: 1", "Impersonate-Group: system:masters", "Impersonate-Extra-X: y"} {
			wantStatus(t, g.do(http.MethodGet, path, g.token, header), http.StatusForbidden, "acts as \"carol\"")
		}
	}
	for _, request := range extension.requests()[seen:] {
		if who := request.header.Get("X-Remote-User"); strings.HasSuffix(request.path, "/things") && who != "carol" {
			t.Errorf("the extension server was asked by %q", who)
		}
	}
	c := Config{Cluster: config, Profile: ProfileImpersonate}
	if _, err := c.profile(); err == nil || !strings.Contains(err.Error(), "without `as`") {
		t.Errorf("the profile impersonate: %v", err)
	}
}

// TestHeadersToExtensionServers: they see who the cluster says it is, and no token.
func TestHeadersToExtensionServers(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile = ProfileToken })
	extension := newExtension(t, "new.example.com/v1", g)
	g.register(extension)
	if code, body := g.get("/apis/new.example.com/v1/things", "alice-token", "X-Remote-User: root", "X-Remote-Group: system:masters"); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	seen := extension.requests()[0].header
	if seen.Get("X-Remote-User") != "alice" || seen.Get("X-Remote-Uid") != "1" || strings.Join(seen.Values("X-Remote-Group"), ",") != "dev,system:authenticated" {
		t.Errorf("the server saw %v", seen)
	}
	if seen.Get("Authorization") != "" {
		t.Error("the server saw the token")
	}
}

// TestCredentials: on the cluster's paths, the cluster decides about requests without credentials; on the
// gateway's paths they are refused.
func TestCredentials(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile = ProfileToken })
	g.register(newExtension(t, "new.example.com/v1", g))
	if code, body := read(t, g.do(http.MethodGet, "/api/v1/pods", "")); code != http.StatusOK || !strings.Contains(body, "system:anonymous") {
		t.Errorf("without credentials: %d %s", code, body)
	}
	wantStatus(t, g.do(http.MethodGet, "/apis/new.example.com/v1/things", ""), http.StatusUnauthorized, "credentials")
	wantStatus(t, g.do(http.MethodGet, "/apis/new.example.com/v1/things", "expired-token"), http.StatusUnauthorized, "unknown credentials")
	wantStatus(t, g.do(http.MethodGet, "/api/v1/pods", "expired-token"), http.StatusUnauthorized)
	// A refusal is not remembered.
	cluster.change(func() { cluster.users["expired-token"] = cluster.users["alice-token"] })
	if code, body := g.get("/apis/new.example.com/v1/things", "expired-token"); code != http.StatusOK {
		t.Errorf("a token that is good now: %d %s", code, body)
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		if code, body := read(t, g.do(http.MethodGet, path, "")); code != http.StatusOK {
			t.Errorf("%s without credentials: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/metrics", "/apiservers/healthz", "/apis", "/openapi/v2"} {
		wantStatus(t, g.do(http.MethodGet, path, ""), http.StatusUnauthorized)
	}
}

// TestClusterAway: requests get a Status that names the cluster; discovery stays, the gateway
// says that it is not ready, and all is well when the cluster is back.
func TestClusterAway(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	proxy := newCutter(t, cluster.server.Listener.Addr().String())
	config := cluster.config("alice-token")
	config.Host = "https://" + proxy.address()
	g := start(t, config)
	g.eventually("discovery is mirrored", func() error {
		if _, body := g.get("/apis", ""); !strings.Contains(body, "batch") {
			return fmt.Errorf("%s", body)
		}
		return nil
	})
	proxy.cut(true)
	wantStatus(t, g.do(http.MethodGet, "/api/v1/pods", g.token), http.StatusServiceUnavailable, "the cluster at "+proxy.address(), "can't be reached")
	g.eventually("it is not ready", func() error {
		if code, _ := g.get("/readyz", ""); code == http.StatusOK {
			return fmt.Errorf("it is")
		}
		return nil
	})
	if code, body := g.get("/livez", ""); code != http.StatusOK {
		t.Errorf("livez: %d %s", code, body)
	}
	proxy.cut(false)
	g.eventually("it is ready again", func() error {
		if code, body := g.get("/readyz?verbose", ""); code != http.StatusOK {
			return fmt.Errorf("%s", body)
		}
		return nil
	})
	if code, body := g.get("/api/v1/pods", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if _, body := g.get("/apis", ""); !strings.Contains(body, "batch") {
		t.Errorf("discovery: %s", body)
	}
}

// TestLeavingAWatchIsNoError: a panic, which the filters log as an error, is for answers
// that break, not for clients that have seen enough.
func TestLeavingAWatchIsNoError(t *testing.T) {
	t.Parallel()
	u := testkit.Must(aggregator.NewUpstreamProxy(newCluster(t).config("alice-token"), aggregator.NewStreams()))(t)
	ended := make(chan any, 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- recover() }()
		u.Serve(w, r, func(http.Header) {})
	}))
	t.Cleanup(front.Close)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, front.URL+"/api/v1/pods?watch=true", nil))(t)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if line, err := readLine(response.Body); err != nil {
		t.Fatalf("%q %v", line, err)
	}
	leave()
	select {
	case panicked := <-ended:
		if panicked != nil {
			t.Errorf("the handler panicked with %v", panicked)
		}
	case <-time.After(soon):
		t.Fatal("the watch does not end")
	}
}
