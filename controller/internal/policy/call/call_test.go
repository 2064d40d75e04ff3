// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/internal/kit/testenv"
)

// loopback is where test servers are.
var loopback = call.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

// serve starts a server with TLS that says nothing on the terminal, and returns its CA.
func serve(tb testing.TB, handler http.HandlerFunc) (server *httptest.Server, bundle string) {
	tb.Helper()
	server = httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server, bundleOf(server)
}

func bundleOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func do(tb testing.TB, config call.Config, request call.Request) ([]byte, error) {
	tb.Helper()
	return call.NewClient(config).Do(tb.Context(), request)
}

// fails checks the reason of an error and that it says something.
func fails(tb testing.TB, err error, reason string, words ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatal("no error")
	}
	if got := call.Reason(err); got != reason {
		tb.Errorf("reason %q, want %q: %v", got, reason, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("%q is not in: %v", word, err)
		}
	}
}

func TestGetHasHeaders(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("X-Team") != "a" || r.URL.RawQuery != "q=1" {
			w.WriteHeader(http.StatusTeapot)
		}
		answering(`{"a":[1]}`)(w, r)
	})
	got, err := do(t, loopback, call.Request{URL: server.URL + "/x?q=1", CABundle: bundle, Headers: []call.Header{{Key: "X-Team", Value: "a"}}})
	if err != nil || string(got) != `{"a":[1]}` {
		t.Fatalf("%s, %v", got, err)
	}
}

func TestPostSendsData(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusTeapot)
		}
		_ = json.NewEncoder(w).Encode(body)
	})
	got, err := do(t, loopback, call.Request{
		URL: server.URL, CABundle: bundle, Method: "POST",
		Data: []call.Datum{{Key: "images", Value: []any{"x"}}, {Key: "n", Value: int64(3)}},
	})
	if err != nil || strings.TrimSpace(string(got)) != `{"images":["x"],"n":3}` {
		t.Fatalf("%s, %v", got, err)
	}
}

func TestServerThatHangsIsATimeout(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"before the headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"a":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, bundle := serve(t, handler)
			config := loopback
			config.Timeout = 200 * time.Millisecond
			_, err := do(t, config, call.Request{URL: server.URL, CABundle: bundle})
			fails(t, err, call.ReasonTimeout, "no answer within 200ms")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("not a deadline: %v", err)
			}
		})
	}
}

func TestStatusAndContentAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		reason  string
		words   []string
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, call.ReasonStatus, []string{"500 Internal Server Error"}},
		"304": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, call.ReasonStatus, []string{"304"}},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html><title>Log in</title>"+strings.Repeat("x", 1000))
		}, call.ReasonContent, []string{"text/html", "not JSON"}},
		"secret content type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/hunter2")
			_, _ = io.WriteString(w, "hunter2")
		}, call.ReasonContent, []string{"not JSON", "no usual type"}},
		"empty":     {func(http.ResponseWriter, *http.Request) {}, call.ReasonContent, []string{"empty"}},
		"half JSON": {answering(`{"a":`), call.ReasonContent, []string{"not JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, bundle := serve(t, test.handler)
			_, err := do(t, loopback, call.Request{URL: server.URL, CABundle: bundle})
			fails(t, err, test.reason, test.words...)
			if len(err.Error()) > 300 {
				t.Errorf("too much is shown: %v", err)
			}
		})
	}
}

func TestGigabyteCostsNothing(t *testing.T) {
	t.Parallel()
	part := []byte(strings.Repeat(" ", 1<<20))
	for name, prepare := range map[string]func(http.ResponseWriter) io.Writer{
		"announced": func(w http.ResponseWriter) io.Writer {
			w.Header().Set("Content-Length", "1073741824")
			return w
		},
		"not announced": func(w http.ResponseWriter) io.Writer { return w },
		"compressed": func(w http.ResponseWriter) io.Writer {
			w.Header().Set("Content-Encoding", "gzip")
			return gzip.NewWriter(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			ended := make(chan struct{})
			server, bundle := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				defer close(ended)
				to := prepare(w)
				for range 1024 {
					n, err := to.Write(part)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			config := loopback
			config.MaxResponse = 1 << 20
			_, err := do(t, config, call.Request{URL: server.URL, CABundle: bundle})
			fails(t, err, call.ReasonSize, "more than 1048576 bytes")
			<-ended
			if name != "compressed" && sent.Load() > 64<<20 {
				t.Errorf("%d bytes were sent", sent.Load())
			}
		})
	}
}

func TestWrongAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, answering(`{}`))
	_, err := do(t, loopback, call.Request{URL: server.URL})
	fails(t, err, call.ReasonTLS, "certificate")
	other := otherBundle
	_, err = do(t, loopback, call.Request{URL: server.URL, CABundle: other})
	fails(t, err, call.ReasonTLS, "certificate")
	if _, err = do(t, loopback, call.Request{URL: server.URL, CABundle: other + bundle}); err != nil {
		t.Errorf("one of two authorities: %v", err)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(answering(`{}`))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	defer server.Close()
	_, err := do(t, loopback, call.Request{URL: server.URL, CABundle: bundleOf(server)})
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Fatal(err)
	}
}

func TestLoopbackIsBlockedByAnyName(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, answering(`{}`))
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		_, err := do(t, call.Config{}, call.Request{URL: "https://" + host + port, CABundle: bundle})
		fails(t, err, call.ReasonBlocked, "is blocked")
	}
	blocked := loopback
	blocked.Block = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/24")}
	_, err := do(t, blocked, call.Request{URL: "https://127.0.0.1" + port, CABundle: bundle})
	fails(t, err, call.ReasonBlocked)
}

// TestClientKeepsToItsBounds: an answer is bounded whatever its status, and a good one is JSON.
func TestClientKeepsToItsBounds(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("x", 100*len(r.URL.Path)))
	})
	config := loopback
	config.MaxResponse = 1000
	client := call.NewClient(config)
	answer, err := client.Ask(t.Context(), call.Request{URL: server.URL + "/a", CABundle: bundle})
	if err != nil || answer.Status != http.StatusTeapot || len(answer.Body) != 200 {
		t.Errorf("%+v, %v", answer, err)
	}
	_, err = client.Ask(t.Context(), call.Request{URL: server.URL + "/more-than-that", CABundle: bundle})
	fails(t, err, call.ReasonSize)
	_, err = client.JSON(t.Context(), call.Request{URL: server.URL + "/a", CABundle: bundle})
	fails(t, err, call.ReasonStatus, "418")
	_, err = call.NewClient(call.Config{}).Ask(t.Context(), call.Request{URL: server.URL, CABundle: bundle})
	fails(t, err, call.ReasonBlocked)
	if _, err := client.Ask(t.Context(), call.Request{Path: "/api"}); err == nil {
		t.Error("a path of the cluster is asked of a service")
	}
}

func TestErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	server, bundle := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	host := strings.TrimPrefix(server.URL, "https://")
	for _, url := range []string{
		"https://user:hunter2@" + host + "/x?token=hunter2", "https://127.0.0.1:1/x?token=hunter2", "https://name.invalid/x?token=hunter2",
	} {
		_, err := do(t, loopback, call.Request{
			URL: url, CABundle: bundle, Method: "POST",
			Headers: []call.Header{{Key: "Authorization", Value: "hunter2"}}, Data: []call.Datum{{Key: "k", Value: "hunter2"}},
		})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	_, err := do(t, loopback, call.Request{URL: fmt.Sprintf("https://127.0.0.1:%d", testenv.FreePort(t))})
	fails(t, err, call.ReasonConnect, "refused")
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied = true }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	_, err := do(t, loopback, call.Request{URL: "http://service.invalid/"})
	fails(t, err, call.ReasonConnect)
	if proxied {
		t.Error("the proxy was asked")
	}
}

func TestPathIsAskedOfTheCluster(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/base/api/v1/nodes" && r.URL.Query().Get("labelSelector") == "a=b":
			answering(`{"items":[]}`)(w, r)
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			answering(string(body))(w, r)
		case r.URL.Path == "/base/large":
			answering(`"`+strings.Repeat("x", 100_000)+`"`)(w, r)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL + "/base", ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	config := call.Config{REST: client, MaxResponse: 1000}
	if got, err := do(t, config, call.Request{Path: "/api/v1/nodes?labelSelector=a%3Db"}); err != nil || string(got) != `{"items":[]}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := do(t, config, call.Request{Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", Method: "POST", Data: []call.Datum{{Key: "a", Value: "b"}}}); err != nil || string(got) != `{"a":"b"}` {
		t.Errorf("%s, %v", got, err)
	}
	_, err = do(t, config, call.Request{Path: "/large"})
	fails(t, err, call.ReasonSize)
	_, err = do(t, config, call.Request{Path: "/api/v1/secrets"})
	fails(t, err, call.ReasonForbidden, "GET /api/v1/secrets")
	_, err = do(t, call.Config{}, call.Request{Path: "/api/v1/secrets"})
	fails(t, err, call.ReasonOther, "no cluster")
}
