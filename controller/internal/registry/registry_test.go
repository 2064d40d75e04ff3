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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/registry"
	"github.com/docket-project/docket/internal/testkit"
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
			wantAnswer(t, client.Session(), url+path, fmt.Sprintf("%d ", test.status))
		}
		if got := asked.Load(); got != test.asked {
			t.Errorf("%s: asked %d times, want %d", path, got, test.asked)
		}
		for _, credentials := range []string{"mine", "yours"} {
			wantAnswer(t, client.Session().As(credentials), url+path, fmt.Sprintf("%d ", test.status))
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
		wantAnswer(t, client.Session(), url+"/v2/a/tags/list", "200 ")
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
		if _, err := ask(first, client.Session(), http.MethodGet, url+"/v2/a/manifests/v1"); !errors.Is(err, context.Canceled) {
			t.Errorf("the first one: %v", err)
		}
	})
	testkit.Receive(t, "the request", arrived)
	for range 5 {
		wait.Go(func() { wantAnswer(t, client.Session(), url+"/v2/a/manifests/v1", "200 here") })
	}
	leave()
	close(open)
	wait.Wait()
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// TestTrouble: what says nothing about an image is told from what does.
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
		session := registry.NewClient(registry.Config{}).Session()
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
	session := registry.NewClient(registry.Config{}).Session()
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
		if _, err := ask(t.Context(), registry.NewClient(registry.Config{}).Session(), method, url+"/v2/a/manifests/v1"); err == nil {
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
	session := registry.NewClient(registry.Config{}).Session()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v2/a/blobs/b", nil)
	if err != nil {
		t.Fatal(err)
	}
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
		for range 33 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	session := registry.NewClient(registry.Config{}).Session()
	for range 2 {
		if _, err := ask(t.Context(), session, http.MethodGet, url+"/v2/a/blobs/b"); err == nil || !strings.Contains(err.Error(), "more than 32 MiB") {
			t.Errorf("%v", err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// TestMemoryIsBounded: what was not used for longest goes.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	url, asked := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
	session := registry.NewClient(registry.Config{}).Session()
	get := func(i int) {
		if _, err := ask(t.Context(), session, http.MethodGet, fmt.Sprintf("%s/v2/a/blobs/%d", url, i)); err != nil {
			t.Error(err)
		}
	}
	const kept = 64<<20/size - 1
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
	if _, err := ask(t.Context(), client.Session(), http.MethodGet, url+"/v2/a"); !errors.Is(err, blocked) || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// TestNoSession: without one, nothing is asked.
func TestNoSession(t *testing.T) {
	t.Parallel()
	if _, err := registry.From(t.Context()); !errors.Is(err, registry.ErrNone) {
		t.Errorf("%v", err)
	}
	session := registry.NewClient(registry.Config{}).Session()
	if found, err := registry.From(registry.With(t.Context(), session)); found != session || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}
