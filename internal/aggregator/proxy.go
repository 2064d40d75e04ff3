// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/transport"
)

const (
	// discoveryTimeout is for requests that clients make before everything else.
	discoveryTimeout = 5 * time.Second
	// answerTime is what we keep of the time of a request to say that it was too long.
	answerTime = 500 * time.Millisecond
	// bufferBytes is small because every watch holds a buffer for as long as it lives.
	bufferBytes = 8 << 10

	statusClientClosedRequest = 499                                      // As nginx has it. Nobody sees it but metrics and logs.
	bearerSubprotocol         = "base64url.bearer.authorization.k8s.io." //nolint:gosec // What tokens come after.
)

var errEnding = errors.New("the server is shutting down")

// proxy sends requests to extension servers, in the name of the user.
type proxy struct {
	resolver Resolver
	// failed is told about servers that can't be reached.
	failed func(apiService string)
	// atEnd has a function called when the server ends; it returns how to take that back.
	atEnd   func(func()) (takeBack func() bool)
	buffers buffers
	silent  *log.Logger
}

// newProxy returns a proxy whose long-running requests end with ctx.
func newProxy(ctx context.Context, resolver Resolver, failed func(apiService string)) *proxy {
	return &proxy{
		resolver: resolver, failed: failed,
		atEnd: func(f func()) func() bool { return context.AfterFunc(ctx, f) },
		// The error handler tells the client; what breaks later is told by the broken stream.
		silent: log.New(io.Discard, "", 0),
	}
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request, b *backend) {
	target, caller, err := p.admit(r, b)
	if err != nil {
		count(err)
		writeError(w, r, err)
		return
	}
	ctx, cancel := p.deadline(r, b)
	defer cancel()
	flowcontrol.RequestDelegated(ctx)
	e := &exchange{proxy: p, backend: b, caller: caller, target: target, ours: w.Header()}
	way := b.transport.requests
	if isUpgrade(r) {
		way = b.transport.upgrades
	}
	Leavable(&httputil.ReverseProxy{
		Rewrite: e.rewrite, Transport: way, ModifyResponse: e.check, ErrorHandler: e.fail,
		BufferPool: &p.buffers, ErrorLog: p.silent,
	}).ServeHTTP(w, r.WithContext(ctx))
}

// admit finds out where a request goes and in whose name, without any waiting.
func (p *proxy) admit(r *http.Request, b *backend) (*url.URL, user.Info, error) {
	caller, ok := request.UserFrom(r.Context())
	switch {
	case !ok:
		return nil, nil, apierrors.NewInternalError(errors.New("the request has no user"))
	case strings.Contains(r.URL.Path, "/../") || strings.Contains(r.URL.Path, "/./") ||
		strings.HasSuffix(r.URL.Path, "/..") || strings.HasSuffix(r.URL.Path, "/."):
		// What was authorized must be what the server understands.
		return nil, nil, apierrors.NewBadRequest("the path has a segment . or ..")
	case b.err != nil:
		return nil, nil, apierrors.NewServiceUnavailable(fmt.Sprintf("APIService %s can't be used: %v", b.name(), b.err))
	case !b.available:
		return nil, nil, apierrors.NewServiceUnavailable(fmt.Sprintf("the server of %s is not available: %s", b.groupVersion(), b.message))
	}
	target, err := b.address(p.resolver)
	if err != nil {
		return nil, nil, apierrors.NewServiceUnavailable(err.Error())
	}
	return target, caller, nil
}

// deadline bounds a request. The filters of the server have already set the time that all
// but long-running requests have; those end with the server.
func (p *proxy) deadline(r *http.Request, b *backend) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if r.Method == http.MethodGet && len(r.URL.Path) == len(b.path()) {
		return context.WithTimeout(ctx, discoveryTimeout)
	}
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-answerTime))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	takeBack := p.atEnd(func() { cancel(errEnding) })
	return ctx, func() {
		takeBack()
		cancel(nil)
	}
}

// exchange is one request and its answer.
type exchange struct {
	*proxy
	backend *backend
	caller  user.Info
	target  *url.URL
	ours    http.Header // Of the answer, as set by the filters of this server.
}

// rewrite makes the request that the server gets. ReverseProxy has removed X-Forwarded-*.
func (e *exchange) rewrite(r *httputil.ProxyRequest) {
	out := r.Out
	out.URL.Scheme, out.URL.Host, out.Host = e.target.Scheme, e.target.Host, e.target.Host
	for name := range out.Header {
		if untrusted(name) {
			delete(out.Header, name)
		}
	}
	stripBearerSubprotocol(out.Header)
	setCaller(out, e.caller)
	if id, ok := audit.AuditIDFrom(r.In.Context()); ok {
		out.Header.Set(auditinternal.HeaderAuditID, string(id))
	}
}

// setCaller tells an extension server who asks.
func setCaller(r *http.Request, caller user.Info) {
	transport.SetAuthProxyHeaders(r, caller.GetName(), caller.GetUID(), caller.GetGroups(), caller.GetExtra())
}

// untrusted reports whether a header tells who the client is: that is not for clients to say.
func untrusted(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == "Authorization" || strings.HasPrefix(name, "X-Remote-") ||
		strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Forwarded-")
}

// stripBearerSubprotocol removes the token that browsers send as a WebSocket subprotocol.
func stripBearerSubprotocol(h http.Header) {
	const name = "Sec-Websocket-Protocol"
	given := h.Values(name)
	if len(given) == 0 {
		return
	}
	var kept []string
	for protocol := range strings.SplitSeq(strings.Join(given, ","), ",") {
		if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(protocol, bearerSubprotocol) {
			kept = append(kept, protocol)
		}
	}
	h.Del(name)
	if len(kept) > 0 {
		h.Set(name, strings.Join(kept, ", "))
	}
}

// check looks at an answer before anything of it is passed on.
func (e *exchange) check(answer *http.Response) error {
	location := answer.Header.Get("Location")
	if answer.StatusCode >= 300 && answer.StatusCode < 400 && answer.StatusCode != http.StatusNotModified && location != "" {
		host := "itself"
		if u, err := url.Parse(location); err == nil && u.Host != "" {
			host = u.Host
		}
		return badGateway(fmt.Sprintf("the server of %s redirects to %s; redirects of extension servers are refused", e.backend.groupVersion(), host))
	}
	// Filters on both sides set these; each header is to be there once.
	for name := range e.ours {
		answer.Header.Del(name)
	}
	proxied.WithLabelValues(strconv.Itoa(answer.StatusCode)).Inc()
	return nil
}

// fail answers when there is no answer to pass on.
func (e *exchange) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch cause := context.Cause(r.Context()); {
	case errors.Is(cause, errEnding):
		err = apierrors.NewServiceUnavailable(errEnding.Error())
	case errors.Is(cause, context.Canceled):
		proxied.WithLabelValues(strconv.Itoa(statusClientClosedRequest)).Inc()
		w.WriteHeader(statusClientClosedRequest)
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		err = classify(e.backend, err)
		e.failed(e.backend.name())
	}
	count(err)
	writeError(w, r, err)
}

func count(err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		proxied.WithLabelValues(strconv.Itoa(int(status.Status().Code))).Inc()
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

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bufferBytes]byte); ok {
		return buffer[:]
	}
	return make([]byte, bufferBytes)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) {
	b.pool.Put((*[bufferBytes]byte)(buffer))
}
