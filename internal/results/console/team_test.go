// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	teamHost   = "docket.example.com"
	namespaces = "/api/v1/namespaces"
	questions  = "/apis/results.docket.dev/v1alpha1/resultqueries"
)

// team is a console for many browsers, of a cluster that answers with who asks.
type team struct {
	*Team

	mu    sync.Mutex
	asked []http.Header
}

// identityOf is what a cluster makes of the headers of a request.
func identityOf(header http.Header) string {
	parts := []string{header.Get("Authorization")}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if strings.HasPrefix(name, "Impersonate-") {
			parts = append(parts, name+"="+strings.Join(header[name], "|"))
		}
	}
	return strings.Join(parts, " ")
}

func newTeam(t *testing.T, o Options) *team {
	t.Helper()
	return newTeamOf(t, o, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, identityOf(r.Header)) })
}

// newTeamOf is newTeam with a cluster that answers in its own way.
func newTeamOf(t *testing.T, o Options, answer http.HandlerFunc) *team {
	t.Helper()
	f := &team{}
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.Header)
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(cluster.Close)
	if len(o.Hosts) == 0 {
		o.Hosts = []string{teamHost}
	}
	testkit.NoError(t, o.Validate())
	config := &rest.Config{Host: cluster.URL, BearerToken: "the-console-s-own"}
	console := testkit.Must(NewTeam(t.Context(), config, Info{Context: "east", Kubectl: []string{"kubectl"}}, nil, o, clock.RealClock{}))(t)
	f.Team = console
	return f
}

func options(signIn string) Options {
	o := NewOptions()
	o.SignIn = signIn
	o.GroupHeaders = []string{"X-Forwarded-Groups"}
	return o
}

// ask sends a request as a proxy does that keeps the host.
func (f *team) ask(method, target string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+teamHost+target, http.NoBody)
	if method == http.MethodPost {
		r.Header.Set("Origin", "https://"+teamHost)
	}
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// with adds headers to a request: names and values in turn.
func with(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Add(pairs[i], pairs[i+1])
		}
	}
}

func bearer(token string) func(*http.Request) { return with("Authorization", "Bearer "+token) }

// spoofed are headers with which a browser may try to be somebody else.
var spoofed = with("Impersonate-User", "admin", "Impersonate-Group", "system:masters", "Impersonate-Uid", "1", "Impersonate-Extra-Scopes", "all",
	"X-Remote-User", "admin", "X-Remote-Group", "system:masters")

func TestTeamTokens(t *testing.T) {
	t.Parallel()
	f := newTeam(t, options(SignInToken))
	for _, token := range []string{"alice", "bob"} {
		answer := f.ask(http.MethodGet, namespaces, bearer(token), spoofed, with("X-Forwarded-User", "admin"))
		if got := answer.Body.String(); answer.Code != http.StatusOK || got != "Bearer "+token {
			t.Errorf("%s: %d, the cluster sees %q; want the token alone", token, answer.Code, got)
		}
	}
	for name := range f.asked[0] {
		if !slices.Contains([]string{"Authorization", "Accept", "Accept-Encoding", "User-Agent", "X-Forwarded-For"}, name) {
			t.Errorf("the header %s reaches the cluster", name)
		}
	}
	f.asked = nil
	for name, edit := range map[string]func(*http.Request){
		"none": with(), "spoofed": spoofed, "empty": bearer(""), "blank": bearer(" "), "another scheme": with("Authorization", "Basic YWRtaW46YWRtaW4="),
		"two": with("Authorization", "Bearer alice", "Authorization", "Bearer bob"), "a cookie": with("Cookie", "Authorization=Bearer alice"),
	} {
		for _, target := range []string{"/", "/js/main.js", "/console.json", namespaces} {
			answer := f.ask(http.MethodGet, target, edit)
			if answer.Code != http.StatusUnauthorized || answer.Header().Get(signInHeader) != "proxy" || !strings.Contains(answer.Body.String(), "ID token") {
				t.Errorf("%s for %s: %d %s; want 401, and what the proxy must do", target, name, answer.Code, answer.Body)
			}
		}
	}
	if len(f.asked) != 0 {
		t.Errorf("the cluster was asked %d times for people without a token", len(f.asked))
	}
}

// TestTeamSharesNothing: many people at once, over connections that are used again, are each themselves.
func TestTeamSharesNothing(t *testing.T) {
	t.Parallel()
	asHeaders := func(name string) (func(*http.Request), string) {
		return with("X-Forwarded-User", name), "Bearer the-console-s-own Impersonate-User=" + name
	}
	asToken := func(name string) (func(*http.Request), string) { return bearer(name), "Bearer " + name }
	for signIn, as := range map[string]func(string) (func(*http.Request), string){SignInToken: asToken, SignInHeaders: asHeaders} {
		t.Run(signIn, func(t *testing.T) {
			t.Parallel()
			f := newTeam(t, options(signIn))
			var all sync.WaitGroup
			for person := range 8 {
				all.Go(func() {
					edit, want := as(fmt.Sprintf("person-%d", person))
					for range 50 {
						if got := f.ask(http.MethodGet, namespaces, edit).Body.String(); got != want {
							t.Errorf("%q asked, and the cluster sees %q", want, got)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestNoGroupsUnasked: headers that the proxy perhaps doesn't know of are not believed.
func TestNoGroupsUnasked(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	o.SignIn = SignInHeaders
	answer := newTeam(t, o).ask(http.MethodGet, namespaces, with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "admins"))
	if got := answer.Body.String(); strings.Contains(got, "admins") || !strings.Contains(got, "alice") {
		t.Errorf("the cluster sees %q", got)
	}
}

func TestTeamHeaders(t *testing.T) {
	t.Parallel()
	o := options(SignInHeaders)
	o.UserHeaders = append(o.UserHeaders, "X-Forwarded-Email")
	f := newTeam(t, o)
	const own = "Bearer the-console-s-own Impersonate-"
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want string
	}{
		"a user":                 {with("X-Forwarded-User", "alice"), own + "User=alice"},
		"groups":                 {with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "dev, ops,,", "X-Forwarded-Groups", "qa"), own + "Group=dev|ops|qa Impersonate-User=alice"},
		"everybody":              {with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "system:authenticated,dev"), own + "Group=dev Impersonate-User=alice"},
		"the second header":      {with("X-Forwarded-Email", "bob@example.com"), own + "User=bob@example.com"},
		"the first of two":       {with("X-Forwarded-Email", "bob@example.com", "X-Forwarded-User", "alice"), own + "User=alice"},
		"spoofed":                {func(r *http.Request) { spoofed(r); with("X-Forwarded-User", "alice")(r) }, own + "User=alice"},
		"somebody else's token":  {func(r *http.Request) { bearer("admin")(r); with("X-Forwarded-User", "alice")(r) }, own + "User=alice"},
		"a name that looks like": {with("X-Forwarded-User", "systems"), own + "User=systems"},
	} {
		if answer := f.ask(http.MethodGet, namespaces, test.edit); answer.Code != http.StatusOK || answer.Body.String() != test.want {
			t.Errorf("%s: %d, the cluster sees %q, want %q", name, answer.Code, answer.Body, test.want)
		}
	}
	f.asked = nil
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want int
	}{
		"nobody":              {with(), 401},
		"only a token":        {bearer("admin"), 401},
		"only spoofed":        {spoofed, 401},
		"an empty name":       {with("X-Forwarded-User", " "), 401},
		"two names":           {with("X-Forwarded-User", "alice", "X-Forwarded-User", "bob"), 401},
		"two names in one":    {with("X-Forwarded-User", "alice,bob"), 401},
		"a user of system":    {with("X-Forwarded-User", "system:admin"), 403},
		"a service account":   {with("X-Forwarded-User", "system:serviceaccount:kube-system:default"), 403},
		"hidden by a space":   {with("X-Forwarded-User", " \tsystem:admin"), 403},
		"masters":             {with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "dev,system:masters"), 403},
		"masters by a space":  {with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "dev, \tsystem:masters "), 403},
		"masters in a second": {with("X-Forwarded-User", "alice", "X-Forwarded-Groups", "dev", "X-Forwarded-Groups", "system:masters"), 403},
	} {
		for _, target := range []string{"/", namespaces} {
			if answer := f.ask(http.MethodGet, target, test.edit); answer.Code != test.want || answer.Header().Get(signInHeader) != "proxy" {
				t.Errorf("%s at %s: %d %s, want %d", name, target, answer.Code, answer.Body, test.want)
			}
		}
	}
	if len(f.asked) != 0 {
		t.Errorf("the cluster was asked %d times", len(f.asked))
	}
}

func TestTeamHostsAndOrigins(t *testing.T) {
	t.Parallel()
	o := options(SignInToken)
	o.Hosts = []string{teamHost, "Other.example.com:8443", "plain.example.com:443"}
	f := newTeam(t, o)
	for host, want := range map[string]int{
		teamHost: 200, teamHost + ":443": 200, "other.example.com": 200, "10.1.2.3:8443": 200, "DOCKET.example.com": 200,
		"evil.example": 421, "docket.example.com.evil.example": 421, "localhost": 421, "": 421,
	} {
		if answer := f.ask(http.MethodGet, "/", bearer("alice"), func(r *http.Request) { r.Host = host }); answer.Code != want {
			t.Errorf("host %q: %d, want %d", host, answer.Code, want)
		}
	}
	for _, test := range []struct {
		host, origin string
		want         int
	}{
		{teamHost, "https://" + teamHost, 200},
		{"other.example.com:8443", "https://other.example.com:8443", 200},
		// The proxy names the console in its own way.
		{"10.1.2.3:8443", "https://" + teamHost, 200},
		{"10.1.2.3:8443", "https://other.example.com:8443", 200},
		{"10.1.2.3:8443", "https://plain.example.com", 200},
		{"127.0.0.1:8001", "http://127.0.0.1:8001", 200},
		{teamHost, "http://" + teamHost, 403},
		{teamHost, "https://" + teamHost + ":8443", 403},
		{"10.1.2.3:8443", "https://other.example.com", 403},
		{"127.0.0.1:8001", "http://127.0.0.1:9", 403},
		{teamHost, "https://evil.example", 403},
		{teamHost, "null", 403},
		{teamHost, "", 403},
	} {
		answer := f.ask(http.MethodPost, questions, bearer("alice"), func(r *http.Request) {
			r.Host = test.host
			r.Header.Set("Origin", test.origin)
		})
		if answer.Code != test.want {
			t.Errorf("origin %q at %q: %d %s, want %d", test.origin, test.host, answer.Code, answer.Body, test.want)
		}
	}
}

// TestTeamServes: the same pages, headers and bounds as for one browser, no cookie, no link, and probes without a
// token.
func TestTeamServes(t *testing.T) {
	t.Parallel()
	f := newTeam(t, options(SignInToken))
	for _, target := range []string{"/livez", "/readyz", "/healthz"} {
		if answer := f.ask(http.MethodGet, target, func(r *http.Request) { r.Host = "anything" }); answer.Code != http.StatusOK || answer.Body.String() != "ok" {
			t.Errorf("%s: %d %s", target, answer.Code, answer.Body)
		}
	}
	for target, want := range map[string]int{"/": 200, "/js/main.js": 200, "/console.json": 200, "/sign-in?token=x": 404, "/api/v1/secrets": 404} {
		answer := f.ask(http.MethodGet, target, bearer("alice"))
		header := answer.Header()
		if answer.Code != want || header.Get("Content-Security-Policy") != contentSecurityPolicy || want == http.StatusOK && header.Get("Cache-Control") != "no-store" || header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v; want %d", target, answer.Code, header, want)
		}
	}
	if got, want := f.ask(http.MethodGet, infoPath, bearer("alice")).Body.String(), `{"cluster":"","context":"east","kubectl":["kubectl"],"signIn":"token","kinds":[`; !strings.HasPrefix(got, want) {
		t.Errorf("the pages know %s, want %s", got, want)
	}
	long := func(r *http.Request) { r.ContentLength = MaxBody + 1 }
	if answer := f.ask(http.MethodPost, questions, bearer("alice"), long); answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long question: %d", answer.Code)
	}
}

// TestNobodyAsks: what reaches the cluster without a person is not the console's own request, but none.
func TestNobodyAsks(t *testing.T) {
	t.Parallel()
	f := newTeam(t, options(SignInHeaders))
	w := httptest.NewRecorder()
	f.answer(w, httptest.NewRequest(http.MethodGet, namespaces, http.NoBody))
	if w.Code != http.StatusBadGateway || len(f.asked) != 0 {
		t.Errorf("a request without a person: %d, asked %d", w.Code, len(f.asked))
	}
}

// TestStreamsOfOnePersonAreBounded: who takes all places that one person gets, with as many tokens as there are,
// leaves those of others; pages that go make room.
func TestStreamsOfOnePersonAreBounded(t *testing.T) {
	t.Parallel()
	for signIn, as := range map[string]func(name string, n int) func(*http.Request){
		SignInHeaders: func(name string, _ int) func(*http.Request) { return with("X-Forwarded-User", name) },
		SignInToken:   func(name string, n int) func(*http.Request) { return bearer(fmt.Sprintf("%s.%d", name, n)) },
	} {
		t.Run(signIn, func(t *testing.T) {
			t.Parallel()
			watching := make(chan struct{})
			f := newTeamOf(t, options(signIn), func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == whoAmI {
					name, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":%q}}}`, name)
					return
				}
				select {
				case watching <- struct{}{}:
					<-r.Context().Done()
				case <-r.Context().Done():
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for n := range mostStreamsOfPerson {
				all.Go(func() {
					f.ask(http.MethodGet, "/changes?since=1&namespace=shop", as("mallory", n), func(r *http.Request) { *r = *r.WithContext(ctx) })
				})
				<-watching // Of both groups of reports.
				<-watching
			}
			short, giveUp := context.WithTimeout(ctx, 10*time.Second)
			defer giveUp()
			answer := f.ask(http.MethodGet, "/changes?since=1&namespace=shop", as("mallory", mostStreamsOfPerson), func(r *http.Request) { *r = *r.WithContext(short) })
			if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "your pages") {
				t.Errorf("one page more: %d %s", answer.Code, answer.Body)
			}
			all.Go(func() {
				f.ask(http.MethodGet, "/changes?since=1&namespace=shop", as("alice", 0), func(r *http.Request) { *r = *r.WithContext(ctx) })
			})
			<-watching
			<-watching
			cancel()
			all.Wait()
			if f.streams.all != 0 || len(f.streams.of) != 0 {
				t.Errorf("%d pages listen after the end, of %v", f.streams.all, f.streams.of)
			}
		})
	}
}

// TestTeamIsToldNoAddresses: why the cluster can't be asked names addresses, and is for the log.
func TestTeamIsToldNoAddresses(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort(t))}
	o := options(SignInToken)
	o.Hosts = []string{teamHost}
	console := testkit.Must(NewTeam(t.Context(), config, Info{}, nil, o, clock.RealClock{}))(t)
	answer := (&team{Team: console}).ask(http.MethodGet, namespaces, bearer("alice"))
	if text := answer.Body.String(); answer.Code != http.StatusBadGateway || strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "the log of the console says why") {
		t.Errorf("a cluster that is away: %d %s", answer.Code, text)
	}
}

func TestTeamOfImpersonator(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "https://cluster", Impersonate: rest.ImpersonationConfig{UserName: "admin"}}
	if _, err := NewTeam(t.Context(), config, Info{}, nil, options(SignInHeaders), clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("a kubeconfig that acts as somebody: %v", err)
	}
}
