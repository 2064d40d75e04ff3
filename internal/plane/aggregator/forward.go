// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"
)

// tokenProtocol precedes the token that browsers send as a WebSocket subprotocol: they can't
// set other headers.
const tokenProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // A name, no secret.

// forward passes one request on, to an extension server or to the upstream cluster. It leaves
// identities alone: rewrite sets them.
type forward struct {
	target    *url.URL // The path of the request is appended as it is.
	transport http.RoundTripper
	buffers   *buffers
	// flush is the longest time for which a part of the answer is held back; negative for none.
	flush   time.Duration
	rewrite func(*httputil.ProxyRequest)
	// check looks at an answer before anything of it is passed on.
	check func(*http.Response) error
	// fail answers when there is no answer to pass on.
	fail func(http.ResponseWriter, *http.Request, error)
}

// serve passes the request on. It ends with the request's context.
func (f *forward) serve(w http.ResponseWriter, r *http.Request) {
	leavable(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(f.target)
			for name := range r.Out.Header {
				if isForProxies(name) {
					delete(r.Out.Header, name)
				}
			}
			setForwarded(r)
			f.rewrite(r)
		},
		Transport: f.transport, FlushInterval: f.flush, BufferPool: f.buffers,
		ModifyResponse: f.check, ErrorHandler: f.fail,
		// fail reports errors to the client; after the answer has begun, the client sees a broken stream.
		ErrorLog: log.New(io.Discard, "", 0),
	}).ServeHTTP(w, r)
}

// isForProxies reports whether only a trusted proxy may set a header. Servers in some languages take an underscore for
// a hyphen.
func isForProxies(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") || name == "X-Real-Ip" || name == "Forwarded"
}

// setForwarded says where a request came from. kube-aggregator sends the same headers, but on upgrades only
// X-Forwarded-For, and as X-Forwarded-Host its own name of the server. From X-Forwarded-For, audit takes its sourceIPs.
func setForwarded(r *httputil.ProxyRequest) {
	r.SetXForwarded()
	r.Out.Header.Set("X-Forwarded-Uri", r.In.URL.EscapedPath())
}

// DropToken removes the bearer token of a request, in each form in which clients send it.
func DropToken(h http.Header) {
	const protocols = "Sec-Websocket-Protocol"
	h.Del("Authorization")
	given := h.Values(protocols)
	if len(given) == 0 {
		return
	}
	var kept []string
	for protocol := range strings.SplitSeq(strings.Join(given, ","), ",") {
		if protocol = textproto.TrimString(protocol); protocol != "" && !strings.HasPrefix(protocol, tokenProtocol) {
			kept = append(kept, protocol)
		}
	}
	h.Del(protocols)
	if len(kept) > 0 {
		h.Set(protocols, strings.Join(kept, ", "))
	}
}

// dropCaller removes who asks from a request: the token, and whom the caller wants to act as.
func dropCaller(h http.Header) {
	DropToken(h)
	for name := range h {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), "Impersonate-") {
			delete(h, name)
		}
	}
}

// isUpgrade reports whether a connection is to be handed over: SPDY and WebSocket alike.
func isUpgrade(r *http.Request) bool {
	for _, value := range r.Header.Values("Connection") {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// buffers implements httputil.BufferPool.
type buffers struct{ pool sync.Pool }

func newBuffers(bytes int) *buffers {
	return &buffers{pool: sync.Pool{New: func() any {
		b := make([]byte, bytes)
		return &b
	}}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return nil // Never: New makes nothing else.
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
