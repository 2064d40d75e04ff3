// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy/registry"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// server answers all requests with a function and counts them.
func server(t *testing.T, answer http.HandlerFunc) (string, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, &asked
}

// ask makes a request and returns the status with the body.
func ask(ctx context.Context, s *registry.Session, method, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	response, err := s.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

func wantAnswer(t *testing.T, s *registry.Session, url, want string) {
	t.Helper()
	if got, err := ask(t.Context(), s, http.MethodGet, url); got != want || err != nil {
		t.Errorf("%s: %q, %v, want %q", url, got, err, want)
	}
}

// TestAnswersAreKept: what a registry has said is not asked for a second time, except for tokens.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	for path, test := range map[string]struct {
		status int
		asked  int64
	}{
		"/v2/a/manifests/v1": {http.StatusOK, 1}, "/v2/a/manifests/none": {http.StatusNotFound, 1}, "/v2/": {http.StatusUnauthorized, 1},
		"/v2/a/manifests/busy": {http.StatusTooManyRequests, 1}, "/v2/a/manifests/broken": {http.StatusBadGateway, 1},
		"/v2/a/manifests/denied": {http.StatusUnauthorized, 3}, "/token": {http.StatusOK, 3},
	} {
		url, asked := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) })
		client := registry.NewClient(registry.Config{})
		for range 3 {
			wantAnswer(t, client.Session(true), url+path, fmt.Sprintf("%d ", test.status))
		}
		if got := asked.Load(); got != test.asked {
			t.Errorf("%s: asked %d times, want %d", path, got, test.asked)
		}
		for _, credentials := range []string{"mine", "yours"} {
			wantAnswer(t, client.Session(true).As(credentials), url+path, fmt.Sprintf("%d ", test.status))
		}
		if got := asked.Load(); got != test.asked+2 {
			t.Errorf("%s: asked %d times, want %d with two more credentials", path, got, test.asked+2)
		}
	}
}

// TestAnswersGetOld: after their age they are asked for once more.
func TestAnswersGetOld(t *testing.T) {
	t.Parallel()
	url, asked := server(t, func(http.ResponseWriter, *http.Request) {})
	client := registry.NewClient(registry.Config{Age: time.Millisecond})
	testkit.Eventually(t, "the registry is asked once more", func() bool {
		wantAnswer(t, client.Session(true), url+"/v2/a/tags/list", "200 ")
		return asked.Load() > 1
	})
}

// TestOneAsksForMany: those who ask for the same at the same time wait for one request, and it goes on
// when the first of them goes.
func TestOneAsksForMany(t *testing.T) {
	t.Parallel()
	arrived, open := make(chan struct{}), make(chan struct{})
	url, asked := server(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-open
		fmt.Fprint(w, "here")
	})
	client := registry.NewClient(registry.Config{})
	first, leave := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := ask(first, client.Session(true), http.MethodGet, url+"/v2/a/manifests/v1"); !errors.Is(err, context.Canceled) {
			t.Errorf("the first one: %v", err)
		}
	})
	testkit.Receive(t, "the request", arrived)
	for range 5 {
		wait.Go(func() { wantAnswer(t, client.Session(true), url+"/v2/a/manifests/v1", "200 here") })
	}
	leave()
	close(open)
	wait.Wait()
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// TestTrouble: answers about an image are distinguished from answers that say nothing about it.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path   string
		status int
		want   bool
	}{
		{"/v2/", 401, false}, {"/v2/a", 200, false}, {"/v2/a", 404, false}, {"/v2/a", 400, false},
		{"/v2/a", 401, true}, {"/v2/a", 403, true}, {"/v2/a", 429, true}, {"/v2/a", 500, true}, {"/token", 401, true},
	} {
		url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) })
		session := registry.NewClient(registry.Config{}).Session(true)
		session.Note("a remark")
		wantAnswer(t, session.As("somebody"), url+test.path, fmt.Sprintf("%d ", test.status))
		trouble := session.Trouble()
		if (trouble != nil) != test.want || test.want && !strings.Contains(trouble.Error(), fmt.Sprintf("%d %s (a remark)", test.status, http.StatusText(test.status))) {
			t.Errorf("%s %d: %v", test.path, test.status, trouble)
		}
	}
}

// TestTroubleEnds: a second request that succeeds makes good for the first, such as with a new token.
func TestTroubleEnds(t *testing.T) {
	t.Parallel()
	var denied atomic.Bool
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if denied.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	session := registry.NewClient(registry.Config{}).Session(true)
	wantAnswer(t, session, url+"/v2/a", "401 ")
	wantAnswer(t, session, url+"/v2/a", "200 ")
	if err := session.Trouble(); err != nil {
		t.Error(err)
	}
}

// TestNothingIsWritten: neither by a policy nor by a library.
func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	url, asked := server(t, func(http.ResponseWriter, *http.Request) {})
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if _, err := ask(t.Context(), registry.NewClient(registry.Config{}).Session(true), method, url+"/v2/a/manifests/v1"); err == nil {
			t.Errorf("%s is allowed", method)
		}
	}
	if asked.Load() != 0 {
		t.Error("the registry is asked")
	}
}

// TestRedirects: registries keep large answers elsewhere. The credentials stay, and so does HTTPS.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere, _ := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "blob"+r.Header.Get("Authorization")) })
	elsewhere = strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)
	url, asked := server(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "loop") {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		http.Redirect(w, r, elsewhere+"/blob?secret=1", http.StatusTemporaryRedirect)
	})
	session := registry.NewClient(registry.Config{}).Session(true)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v2/a/blobs/b", nil))(t)
	request.Header.Set("Authorization", "secret")
	for range 2 {
		response, err := session.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if string(body) != "blob" || err != nil || response.Body.Close() != nil {
			t.Errorf("%q, %v", body, err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
	if _, err := ask(t.Context(), session, http.MethodGet, url+"/v2/a/blobs/loop"); err == nil || !strings.Contains(err.Error(), "redirects too often") {
		t.Errorf("%v", err)
	}
}

// TestLargeAnswer: there is an end to what is read.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	url, asked := server(t, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range 9 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	session := registry.NewClient(registry.Config{}).Session(true)
	for range 2 {
		if _, err := ask(t.Context(), session, http.MethodGet, url+"/v2/a/blobs/b"); err == nil || !strings.Contains(err.Error(), "more than 8 MiB") {
			t.Errorf("%v", err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
	if _, err := ask(t.Context(), session, http.MethodGet, url+"/token"); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("a token: %v", err)
	}
}

// TestMemoryIsBounded: what was not used for longest goes.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	url, asked := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
	session := registry.NewClient(registry.Config{}).Session(true)
	get := func(i int) {
		if _, err := ask(t.Context(), session, http.MethodGet, fmt.Sprintf("%s/v2/a/blobs/%d", url, i)); err != nil {
			t.Error(err)
		}
	}
	const kept = 32<<20/size - 1
	for i := range kept + 5 {
		get(i)
	}
	before := asked.Load()
	get(kept + 4)
	if asked.Load() != before {
		t.Error("the last answer is not kept")
	}
	get(0)
	if asked.Load() != before+1 {
		t.Error("the first answer is kept")
	}
}

// TestAddresses: connections are made where they may be made.
func TestAddresses(t *testing.T) {
	t.Parallel()
	url, asked := server(t, func(http.ResponseWriter, *http.Request) {})
	blocked := errors.New("blocked")
	client := registry.NewClient(registry.Config{Control: func(string, string, syscall.RawConn) error { return blocked }})
	if _, err := ask(t.Context(), client.Session(true), http.MethodGet, url+"/v2/a"); !errors.Is(err, blocked) || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// TestNoSession: without one, nothing is asked.
func TestNoSession(t *testing.T) {
	t.Parallel()
	if _, err := registry.From(t.Context()); !errors.Is(err, registry.ErrNone) {
		t.Errorf("%v", err)
	}
	session := registry.NewClient(registry.Config{}).Session(true)
	if found, err := registry.From(registry.With(t.Context(), session)); found != session || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestRefusalsLoseTheirText: of an answer that is no success, the status and the codes are left, since who names a
// registry can name any server.
func TestRefusalsLoseTheirText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"codes":     {`{"errors":[{"code":"DENIED","message":"hunter2","detail":"hunter2"},{"code":"hunter2"}]}`, `{"errors":[{"code":"DENIED"}]}`},
		"text":      {"hunter2", ""},
		"other":     {`{"password":"hunter2"}`, ""},
		"very long": {`{"errors":[{"code":"DENIED","message":"` + strings.Repeat("x", 1<<17) + `"}]}`, ""},
	} {
		url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Secret", "hunter2")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, test.body)
		})
		request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v2/a/manifests/x", nil))(t)
		response, err := registry.NewClient(registry.Config{}).Session(true).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusForbidden || string(body) != test.want || response.Header.Get("X-Secret") != "" {
			t.Errorf("%s: %d %q %v %v, want %q", name, response.StatusCode, body, response.Header, err, test.want)
		}
	}
}

// elsewhere lets no connection go to this machine that has to go to a public address.
func elsewhere(address netip.Addr) error {
	if address.IsLoopback() {
		return fmt.Errorf("address %s is not public", address)
	}
	return nil
}

// TestRegistriesSendOnInPublicOnly: a registry may be at any address, but where it sends on for tokens and blobs is a
// public one, and asked over https; all that a namespaced policy asks is.
func TestRegistriesSendOnInPublicOnly(t *testing.T) {
	t.Parallel()
	inside, asked := server(t, func(http.ResponseWriter, *http.Request) {})
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/away") {
			http.Redirect(w, r, inside+"/v2/a/blobs/b", http.StatusTemporaryRedirect)
		}
	})
	client := registry.NewClient(registry.Config{Public: elsewhere, Age: time.Millisecond})
	session := client.Session(true)
	wantAnswer(t, session, url+"/v2/", "200 ") // It is known as a registry from now on.
	for name, test := range map[string]struct {
		session *registry.Session
		url     string
		want    string
	}{
		"the registry":                  {session, url + "/v2/a/manifests/x", ""},
		"its own realm":                 {session, url + "/token", ""},
		"a realm elsewhere":             {session, inside + "/token", "is not public"},
		"a redirect elsewhere":          {session, url + "/v2/a/blobs/away", "is not public"},
		"a namespaced policy":           {session.Confined(), url + "/v2/a/manifests/y", "is not public"},
		"a realm over plain HTTP":       {client.Session(false), inside + "/token", "https only"},
		"a namespaced policy over HTTP": {client.Session(false).Confined(), url + "/v2/a/manifests/z", "https only"},
	} {
		_, err := ask(t.Context(), test.session, http.MethodGet, test.url)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if got := asked.Load(); got != 0 {
		t.Errorf("what is inside was asked %d times", got)
	}
}
