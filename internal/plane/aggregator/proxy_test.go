// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestHeadersFromOutsideAreNotTrusted: an extension server gets the user that was
// authenticated and the client's address, whatever the client says about itself, and never the token.
func TestHeadersFromOutsideAreNotTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	code, body, answer := w.as(t, userToken, "/apis/"+b.gv+"/echo?x=1",
		"X-Remote-User", "admin", "x-remote-group", "system:masters", "X-Remote-Extra-Scopes", "all", "X-Remote-Uid", "0",
		"X-Remote-Groups", "system:masters", "X_Remote_User", "admin", "Impersonate-Uid", "",
		"X-Forwarded-For", "10.0.0.1", "X-Forwarded-Host", "evil", "X-Forwarded-Uri", "/evil", "X-Forwarded-Port", "1",
		"X_Forwarded_For", "10.0.0.1", "X-Real-Ip", "10.0.0.1", "Forwarded", "for=10.0.0.1")
	got := http.Header{}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	want := map[string]string{
		"X-Remote-User": "alice", "X-Remote-Uid": "u-1", "X-Remote-Extra-Example.com%2fteam": "red",
		"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": strings.TrimPrefix(w.config.Host, "https://"), "X-Forwarded-Proto": "https",
		"X-Forwarded-Uri": "/apis/" + b.gv + "/echo",
	}
	for name, value := range want {
		if len(got[name]) != 1 || got.Get(name) != value && got[name][0] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	if groups := strings.Join(got["X-Remote-Group"], ","); groups != "dev,system:authenticated" && groups != "dev" {
		t.Errorf("groups %s", groups)
	}
	for name := range got {
		known := want[name] != "" || name == "X-Remote-Group"
		if name == "Authorization" || name == "Forwarded" || strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X") && !known {
			t.Errorf("the server got %s: %q", name, got[name])
		}
	}
	if strings.Contains(body, userToken) {
		t.Error("the server got the token")
	}
	for name, values := range answer {
		if len(values) > 1 && name != "Vary" {
			t.Errorf("the answer has %s %d times: %q", name, len(values), values)
		}
	}
}

// TestImpersonationIsNotPassedOn: the server gets whom the client may act as, not the request.
func TestImpersonationIsNotPassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	code, body, _ := w.as(t, userToken, "/apis/"+b.gv+"/echo", "Impersonate-User", "bob", "Impersonate-Group", "ops")
	got := http.Header{}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || got.Get("X-Remote-User") != "bob" {
		t.Fatalf("%d %s", code, body)
	}
	if got.Get("Impersonate-User") != "" || got.Get("Impersonate-Group") != "" {
		t.Errorf("passed on: %v", got)
	}
}

// TestDotSegmentsAreRefused: what was authorized is what the server gets.
func TestDotSegmentsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	code, body, _ := w.as(t, userToken, "/apis/"+b.gv+"/namespaces/a/%2e%2e/b/widgets")
	if code != http.StatusBadRequest || status(t, body).Code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

// TestWatchEventsComeAtOnce: each event is passed on when it is sent, not when a buffer is full;
// and a watch lives longer than other requests may.
func TestWatchEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	next := make(chan string)
	b.mux.HandleFunc("/apis/"+b.gv+"/namespaces/a/widgets", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rw).Flush()
		for {
			select {
			case name := <-next:
				_, _ = fmt.Fprintf(rw, `{"type":"ADDED","object":{"apiVersion":%q,"kind":"Widget","metadata":{"name":%q}}}`+"\n", b.gv, name)
				_ = http.NewResponseController(rw).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	client, err := dynamic.NewForConfig(w.config)
	testkit.NoError(t, err)
	watcher, err := client.Resource(schema.GroupVersionResource{Group: "wardle.example.com", Version: "v1", Resource: "widgets"}).
		Namespace("a").Watch(t.Context(), metav1.ListOptions{})
	testkit.NoError(t, err)
	defer watcher.Stop()
	start := time.Now()
	for _, name := range []string{"one", "two", "three"} {
		next <- name
		select {
		case event := <-watcher.ResultChan():
			if event.Type != watch.Added {
				t.Fatalf("%+v", event)
			}
		case <-time.After(patience):
			t.Fatal("no event: it is held back")
		}
		if name == "two" { // Longer than RequestTimeout.
			<-time.After(9 * time.Second)
		}
	}
	t.Logf("took %v", time.Since(start))
	// The server dies in mid-watch: the client gets an error.
	b.CloseClientConnections()
	b.Close()
	select {
	case event, open := <-watcher.ResultChan():
		if open && event.Type != watch.Error {
			t.Errorf("%+v", event)
		}
	case <-time.After(patience):
		t.Error("the watch goes on without a server")
	}
}

// TestUpgradeIsTunneled: a WebSocket works through the proxy, with the token in the
// subprotocol as browsers send it; the server does not get the token.
func TestUpgradeIsTunneled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	upgrader := websocket.Upgrader{Subprotocols: []string{"echo.example.com"}}
	seen := make(chan http.Header, 1)
	b.mux.HandleFunc("/apis/"+b.gv+"/namespaces/a/widgets/x/console", func(rw http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		c, err := upgrader.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		for {
			kind, message, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
	tlsConfig, err := rest.TLSConfigFor(w.config)
	testkit.NoError(t, err)
	tlsConfig.NextProtos = nil
	token := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(userToken))
	dialer := websocket.Dialer{TLSClientConfig: tlsConfig, Subprotocols: []string{token, "echo.example.com"}}
	c, answer, err := dialer.DialContext(t.Context(), strings.Replace(w.config.Host, "https://", "wss://", 1)+"/apis/"+b.gv+"/namespaces/a/widgets/x/console", nil)
	if err != nil {
		t.Fatalf("%v: %+v", err, answer)
	}
	defer func() { _ = c.Close() }()
	defer func() { _ = answer.Body.Close() }()
	for _, text := range []string{"hello", strings.Repeat("x", 100_000)} {
		testkit.NoError(t, c.WriteMessage(websocket.TextMessage, []byte(text)))
		_, got, err := c.ReadMessage()
		if err != nil || string(got) != text {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
	if got := <-seen; got.Get("Sec-Websocket-Protocol") != "echo.example.com" || got.Get("X-Remote-User") != "alice" ||
		got.Get("X-Forwarded-For") != "127.0.0.1" || !strings.HasSuffix(got.Get("X-Forwarded-Uri"), "/widgets/x/console") {
		t.Errorf("the server got %v", got)
	}
}

// away asks for path, as an upgrade if wanted. HTTP/2 has none.
func (w *world) away(t *testing.T, path string, upgrade bool) (int, string, http.Header) {
	t.Helper()
	if !upgrade {
		return w.get(t, path)
	}
	h1 := *w
	h1.config = rest.CopyConfig(w.config)
	h1.config.NextProtos = []string{"http/1.1"}
	return h1.get(t, path, "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
}

// TestRedirectsAreRefused: a server can't send us, or our client, anywhere else.
func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	b.mux.HandleFunc("/apis/"+b.gv+"/away", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})
	for _, upgrade := range []bool{false, true} {
		code, body, header := w.away(t, "/apis/"+b.gv+"/away", upgrade)
		if code != http.StatusBadGateway || header.Get("Location") != "" || !strings.Contains(status(t, body).Message, "redirects to 169.254.169.254") {
			t.Errorf("upgrade %v: %d %s", upgrade, code, body)
		}
	}
	redirecting := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})
	other := newBackend(t, w, "away.example.com/v1", echoHost)
	other.list.Store(&redirecting)
	w.register(t, other)
	w.unavailableSince(t, "v1.away.example.com", "FailedDiscoveryCheck: the server answers with status 302")
}

// TestNoRedirectIsMade: the proxy adds no redirect of its own (trap 2.5.1).
func TestNoRedirectIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	if code, body, _ := w.get(t, "/apis/"+b.gv); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	b.mux.HandleFunc("/apis/"+b.gv+"/path/", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, r.RequestURI)
	})
	path := "/apis/" + b.gv + "/path/a%2Fb?x=1&y=%20"
	if _, body, _ := w.get(t, path); body != path {
		t.Errorf("the server got %s", body)
	}
}

// TestAnswersThatBreakOff: the client sees that the answer is not whole.
func TestAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	b.mux.HandleFunc("/apis/"+b.gv+"/half", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, "half of ")
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.config.Host+"/apis/"+b.gv+"/half?watch=true", nil)
	testkit.NoError(t, err)
	answer, err := w.httpClient(t, "").Do(r)
	testkit.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(bufio.NewReader(answer.Body)); err == nil {
		t.Errorf("no error after %q", body)
	}
}
