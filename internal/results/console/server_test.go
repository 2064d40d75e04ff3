// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
)

const host = "127.0.0.1:8001"

// fixture is a console of a cluster that notes the requests that it gets, and answers with their path.
type fixture struct {
	*Console

	clock *clocktesting.FakePassiveClock
	mu    sync.Mutex
	asked []*http.Request
	code  int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)), code: http.StatusOK}
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "of=cluster")
		w.Header().Set("Cache-Control", "public")
		w.WriteHeader(f.code)
		_, _ = io.WriteString(w, r.URL.String())
	}))
	t.Cleanup(cluster.Close)
	f.Console = newConsole(t, cluster.URL+"/base", f.clock)
	return f
}

func newConsole(t *testing.T, address string, c *clocktesting.FakePassiveClock) *Console {
	t.Helper()
	config := &rest.Config{Host: address, BearerToken: "secret"}
	info := Info{Cluster: address, Kubectl: []string{"kubectl"}, Kinds: mappedKinds()}
	return testkit.Must(New(config, info, []string{"localhost"}, c))(t)
}

// mappedKinds are kinds of objects that are no reports and have results.
func mappedKinds() []mapping.Kind {
	const group, version = "aquasecurity.github.io", "v1alpha1"
	return []mapping.Kind{
		{Group: group, Version: version, Kind: "VulnerabilityReport", Resource: "vulnerabilityreports", Namespaced: true},
		{Group: group, Version: version, Kind: "ClusterVulnerabilityReport", Resource: "clustervulnerabilityreports"},
	}
}

// request sends one to a console, changed by edits.
func request(c *Console, method, target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+host+target, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Origin", "http://"+host)
	}
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// signIn opens the link.
func signIn(t *testing.T, c *Console) func(*http.Request) {
	t.Helper()
	link := testkit.Must(url.Parse(c.Link(host)))(t)
	answer := request(c, http.MethodGet, link.RequestURI(), "").Result()
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) != 1 {
		t.Fatalf("the link: %s, cookies %v; want 200 and a cookie", answer.Status, answer.Cookies())
	}
	cookie := answer.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie %v can be read by scripts or is sent by other sites", cookie)
	}
	return func(r *http.Request) { r.AddCookie(cookie) }
}

func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	link := strings.TrimPrefix(f.Link(host), "http://"+host)
	for name, target := range map[string]string{"spent": link, "empty": "/sign-in?token=", "none": "/sign-in", "guess": "/sign-in?token=x"} {
		answer := request(f.Console, http.MethodGet, target, "")
		if answer.Code != http.StatusUnauthorized || len(answer.Result().Cookies()) != 0 || !strings.Contains(answer.Body.String(), "docket console") {
			t.Errorf("%s token: %d %s; want 401 and what to do", name, answer.Code, answer.Body)
		}
	}
	if answer := request(f.Console, http.MethodGet, link, "", signedIn); answer.Code != http.StatusOK {
		t.Errorf("the browser that is signed in opens the link: %d; want 200", answer.Code)
	}
}

func TestLinkExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	spent := f.session.token
	f.clock.SetTime(f.clock.Now().Add(LinkLifetime))
	if answer := request(f.Console, http.MethodGet, "/sign-in?token="+spent, ""); answer.Code != http.StatusUnauthorized {
		t.Errorf("a link after its lifetime: %d; want 401", answer.Code)
	}
	f.clock.SetTime(f.clock.Now().Add(-time.Second))
	if answer := request(f.Console, http.MethodGet, "/sign-in?token="+spent, ""); answer.Code != http.StatusOK {
		t.Errorf("a link within its lifetime: %d; want 200", answer.Code)
	}
}

// TestNewLink: people who can't get in learn how to get a new link.
func TestNewLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for newLink, want := range map[string]string{
		"": "stop <code>docket console</code> in its terminal",
		"docket console --kubeconfig '/a b/<k>' --open": "run in a terminal: <code>docket console --kubeconfig &#39;/a b/&lt;k&gt;&#39; --open</code>",
	} {
		f.info.NewLink = newLink
		for _, target := range []string{"/", "/sign-in?token=old"} {
			if body := request(f.Console, http.MethodGet, target, "").Body.String(); !strings.Contains(body, want) {
				t.Errorf("%s: %s\nwant %q in it", target, body, want)
			}
		}
	}
}

func TestWithoutCookie(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: f.session.cookieName, Value: ""}) }
	for _, target := range []string{"/", "/console.json", "/js/main.js", "/api/v1/namespaces", "/apis/results.docket.dev/v1alpha1/policyresults"} {
		for _, edits := range [][]func(*http.Request){nil, {other}} {
			if answer := request(f.Console, http.MethodGet, target, "", edits...); answer.Code != http.StatusUnauthorized {
				t.Errorf("%s without a cookie: %d; want 401", target, answer.Code)
			}
		}
	}
	if len(f.asked) != 0 {
		t.Errorf("the cluster was asked %d times", len(f.asked))
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	for _, target := range []string{"/", "/js/main.js", "/sign-in", "/console.css", "/api/v1/namespaces"} {
		header := request(f.Console, http.MethodGet, target, "", signedIn).Result().Header
		for name, want := range map[string]string{
			"Content-Security-Policy": contentSecurityPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store", "Set-Cookie": "",
		} {
			if got := strings.Join(header.Values(name), "; "); got != want {
				t.Errorf("%s of %s: %q, want %q", name, target, got, want)
			}
		}
	}
	if strings.Contains(contentSecurityPolicy, "unsafe") || !strings.HasPrefix(contentSecurityPolicy, "default-src 'none';") {
		t.Errorf("the policy %q allows too much", contentSecurityPolicy)
	}
}

func TestHostsAndOrigins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	for name, want := range map[string]int{
		host: 200, "localhost:1": 200, "localhost": 200, "[::1]:8001": 200, "[::1]": 200,
		"evil.example:8001": 421, "127.0.0.1.evil.example": 421, "": 421,
	} {
		if answer := request(f.Console, http.MethodGet, "/", "", signedIn, func(r *http.Request) { r.Host = name }); answer.Code != want {
			t.Errorf("host %q: %d, want %d", name, answer.Code, want)
		}
	}
	for origin, want := range map[string]int{"http://" + host: 200, "http://127.0.0.1:9": 403, "https://" + host: 403, "null": 403, "": 403} {
		answer := request(f.Console, http.MethodPost, "/apis/results.docket.dev/v1alpha1/resultqueries", "{}", signedIn,
			func(r *http.Request) { r.Header.Set("Origin", origin) })
		if answer.Code != want {
			t.Errorf("origin %q: %d, want %d", origin, answer.Code, want)
		}
	}
}

func TestForwarded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	const results, reports, trivy = "/apis/results.docket.dev/v1alpha1", "/apis/wgpolicyk8s.io/v1alpha2", "/apis/aquasecurity.github.io/v1alpha1"
	for call, want := range map[string]bool{
		"GET " + results + "/policyresults?limit=2":                           true,
		"GET " + results + "/namespaces/shop/policysummaries":                 true,
		"GET /api/v1/namespaces":                                              true,
		"GET " + reports + "/namespaces/shop/policyreports/a.b":               true,
		"GET " + reports + "/clusterpolicyreports/a":                          true,
		"GET /apis/openreports.io/v1alpha1/namespaces/shop/reports/a":         true,
		"GET /apis/openreports.io/v1alpha1/clusterreports/a":                  true,
		"GET " + trivy + "/namespaces/shop/vulnerabilityreports/a":            true,
		"GET " + trivy + "/clustervulnerabilityreports/a":                     true,
		"GET " + trivy + "/namespaces/shop/clustervulnerabilityreports/a":     false,
		"GET " + trivy + "/namespaces/shop/vulnerabilityreports":              false,
		"GET " + trivy + "/vulnerabilityreports?watch=true":                   false,
		"GET " + trivy + "/namespaces/shop/sbomreports/a":                     false,
		"GET " + trivy + "/namespaces/shop/policyreports/a":                   false,
		"POST " + results + "/resultqueries":                                  true,
		"POST " + results + "/fleetqueries":                                   true,
		"GET " + results + "/clustersummaries":                                true,
		"POST " + results + "/clustersummaries":                               false,
		"POST " + results + "/namespaces/shop/fleetqueries":                   false,
		"POST " + results + "/namespaces/shop/localresultqueries":             true,
		"GET " + reports + "/policyreports?watch=true":                        false,
		"GET " + reports + "/namespaces/shop/policyreports?watch=true":        false,
		"GET /apis/openreports.io/v1alpha1/clusterreports?watch=true":         false,
		"GET " + results + "/policyresults?watch=true":                        false,
		"GET " + results + "/watch/policyresults":                             false,
		"GET " + reports + "/namespaces/shop/secrets?watch=true":              false,
		"GET " + reports + "/namespaces/shop/policyreports/a?watch=true":      false,
		"GET " + reports + "/namespaces/shop/clusterpolicyreports?watch=true": false,
		"POST " + results + "/resultqueries?watch=true":                       false,
		"POST /apis/authentication.k8s.io/v1/selfsubjectreviews":              true,
		"POST /apis/authentication.k8s.io/v1/selfsubjectreviews/x":            false,
		"POST /apis/authentication.k8s.io/v1/tokenreviews":                    false,
		"GET /apis/authentication.k8s.io/v1/selfsubjectreviews":               false,
		"GET /api":                            false,
		"GET /apis":                           false,
		"GET /api/v1/secrets":                 false,
		"GET /api/v1/namespaces?watch=1":      false,
		"GET /api/v1/namespaces/shop/secrets": false,
		"GET " + reports + "/namespaces/shop/policyreports":                     false,
		"GET " + reports + "/namespaces/shop/secrets/a":                         false,
		"GET " + reports + "/policyreports/a":                                   false,
		"GET " + reports + "/namespaces/shop/policyreports/a/status":            false,
		"GET " + results + "/../../../api/v1/secrets":                           false,
		"GET " + results + "/%2e%2e/%2e%2e/%2e%2e/api/v1/secrets":               false,
		"GET " + results + "//policyresults":                                    false,
		"GET /apis/results.docket.dev%2fx":                                      false,
		"GET /apis/results.docket.devil/v1alpha1/x":                             false,
		"POST " + results + "/policyresults":                                    false,
		"POST " + results + "/namespaces/shop/resultqueries/x":                  false,
		"POST /api/v1/namespaces":                                               false,
		"POST /apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/localresultqueries": false,
		"DELETE " + reports + "/clusterpolicyreports/a":                         false,
		"PUT " + results + "/resultqueries":                                     false,
	} {
		f.asked = nil
		method, target, _ := strings.Cut(call, " ")
		answer := request(f.Console, method, target, "", signedIn, func(r *http.Request) {
			r.Header.Set("Origin", "http://"+host)
			r.Header.Set("Impersonate-User", "admin")
			r.Header.Set("Authorization", "Bearer mine")
		})
		if got := len(f.asked) == 1; got != want {
			t.Errorf("%s: forwarded %t, want %t (%d)", call, got, want, answer.Code)
		}
		if !want {
			continue
		}
		asked := f.asked[0]
		if asked.URL.String() != "/base"+target || asked.Header.Get("Authorization") != "Bearer secret" ||
			asked.Header.Get("Impersonate-User") != "" || asked.Header.Get("Cookie") != "" || answer.Body.String() != asked.URL.String() {
			t.Errorf("%s became %s with %v, answered %q", call, asked.URL, asked.Header, answer.Body)
		}
	}
}

// TestWatchesAreTheConsolesOwn: no request of a browser has the parameter, whatever it says; those of the console have.
func TestWatchesAreTheConsolesOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	const reports = "/apis/wgpolicyk8s.io/v1alpha2/policyreports"
	for _, query := range []string{"", "?watch", "?watch=", "?watch=0", "?watch=false", "?watch=1", "?watch=true", "?%77atch=0", "?limit=1&watch=f", "?watch=0&watch=1"} {
		for _, target := range []string{reports, "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports", "/apis/openreports.io/v1alpha1/clusterreports"} {
			if answer := request(f.Console, http.MethodGet, target+query, "", signedIn); answer.Code != http.StatusNotFound || len(f.asked) != 0 {
				t.Errorf("%s: %d, the cluster was asked %d times", target+query, answer.Code, len(f.asked))
			}
		}
	}
	f.code = http.StatusNotFound // A watch that is answered and ends would end the others before they are asked for.
	request(f.Console, http.MethodGet, "/changes?since=12", "", signedIn)
	f.mu.Lock()
	defer f.mu.Unlock()
	watched := map[string]bool{}
	for _, asked := range f.asked {
		watched[asked.URL.Path] = true
		if asked.URL.Query().Get("watch") != "true" {
			t.Errorf("the console asks for %s", asked.URL)
		}
	}
	if mapped := "/base/apis/aquasecurity.github.io/v1alpha1/"; !watched["/base"+reports] || !watched[mapped+"vulnerabilityreports"] || !watched[mapped+"clustervulnerabilityreports"] {
		t.Errorf("the console watches %v", watched)
	}
	if got := reported(f.info.Kinds).collections("shop", false); len(got) != 3 || got[0] != "/apis/aquasecurity.github.io/v1alpha1/namespaces/shop/vulnerabilityreports" {
		t.Errorf("of a namespace the console watches %v", got)
	}
	if got := reported(f.info.Kinds).collections("", true); len(got) != 3 || got[0] != "/apis/aquasecurity.github.io/v1alpha1/clustervulnerabilityreports" {
		t.Errorf("outside namespaces the console watches %v", got)
	}
}

func TestLongQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	const target = "/apis/results.docket.dev/v1alpha1/resultqueries"
	if answer := request(f.Console, http.MethodPost, target, strings.Repeat("x", MaxBody), signedIn); answer.Code != http.StatusOK {
		t.Errorf("the longest question: %d, want 200", answer.Code)
	}
	f.asked = nil
	unknownLength := func(r *http.Request) { r.ContentLength = -1 }
	for _, edits := range [][]func(*http.Request){{signedIn}, {signedIn, unknownLength}} {
		answer := request(f.Console, http.MethodPost, target, strings.Repeat("x", MaxBody+1), edits...)
		if answer.Code != http.StatusRequestEntityTooLarge || len(f.asked) != 0 {
			t.Errorf("a longer question: %d, asked %d; want 413 and none", answer.Code, len(f.asked))
		}
	}
}

// TestClusterErrors: what the cluster says passes; that it can't be asked is said.
func TestClusterErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	signedIn := signIn(t, f.Console)
	for _, code := range []int{401, 403, 503} {
		f.code = code
		answer := request(f.Console, http.MethodGet, "/api/v1/namespaces", "", signedIn)
		if answer.Code != code || answer.Header().Get(signInHeader) != "" {
			t.Errorf("the cluster says %d: %d, %v; want the same, and not the console's", code, answer.Code, answer.Header())
		}
	}
	away := newConsole(t, fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort(t)), f.clock)
	answer := request(away, http.MethodGet, "/api/v1/namespaces", "", signIn(t, away))
	var status metav1.Status
	testkit.NoError(t, json.Unmarshal(answer.Body.Bytes(), &status))
	if answer.Code != http.StatusBadGateway || !strings.Contains(status.Message, "connection refused") {
		t.Errorf("a cluster that is away: %d %q; want 502 and why", answer.Code, status.Message)
	}
}

// serving has requests to a console answered until end is called.
func serving(t *testing.T, c *Console) (address string, end func()) {
	t.Helper()
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- c.Serve(ctx, listener) }()
	return listener.Addr().String(), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// TestConnectionsOfConsoleAreBounded: those that send nothing give way, the oldest first.
func TestConnectionsOfConsoleAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address, end := serving(t, f.Console)
	testkit.Crowd(t, address, connections.Most+1, 4*time.Second)
	end()
}

func TestServeEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address, end := serving(t, f.Console)
	response, err := http.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("the page without a cookie: %s, %v; want 401", response.Status, err)
	}
	// As browsers do, ahead of their requests.
	silent := testkit.Must(net.Dial("tcp", address))(t)
	defer func() { _ = silent.Close() }()
	end()
}
