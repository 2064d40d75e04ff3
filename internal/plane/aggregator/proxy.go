// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
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

	statusClientClosedRequest = 499 // As in nginx. Only metrics and logs see it.
)

// proxy sends requests to extension servers, in the name of the user.
type proxy struct {
	// failed is called for servers that can't be reached.
	failed  func(apiService string)
	streams *Streams
	buffers *buffers
}

func newProxy(streams *Streams, failed func(apiService string)) *proxy {
	return &proxy{failed: failed, streams: streams, buffers: newBuffers(bufferBytes)}
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
	e := &exchange{proxy: p, backend: b, caller: caller, ours: w.Header()}
	transport := b.transport.requests
	if isUpgrade(r) {
		transport = b.transport.upgrades
	}
	f := forward{target: target, transport: transport, buffers: p.buffers, rewrite: e.rewrite, check: e.check, fail: e.fail}
	f.serve(w, r.WithContext(ctx))
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
	target, err := b.address()
	if err != nil {
		return nil, nil, apierrors.NewServiceUnavailable(err.Error())
	}
	return target, caller, nil
}

// deadline bounds a request. The filters of the server have already set a deadline for all
// except long-running requests; those end with the server.
func (p *proxy) deadline(r *http.Request, b *backend) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if r.Method == http.MethodGet && len(r.URL.Path) == len(b.path()) {
		return context.WithTimeout(ctx, discoveryTimeout)
	}
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-answerTime))
	}
	return p.streams.Add(ctx)
}

// exchange is one request and its answer.
type exchange struct {
	*proxy
	backend *backend
	caller  user.Info
	ours    http.Header // Of the answer, as set by the filters of this server.
}

// rewrite sets in whose name the server is asked, which clients must not do themselves.
func (e *exchange) rewrite(r *httputil.ProxyRequest) {
	dropCaller(r.Out.Header)
	setCaller(r.Out, e.caller)
	if id, ok := audit.AuditIDFrom(r.In.Context()); ok {
		r.Out.Header.Set(auditinternal.HeaderAuditID, string(id))
	}
}

// setCaller tells an extension server who asks.
func setCaller(r *http.Request, caller user.Info) {
	transport.SetAuthProxyHeaders(r, caller.GetName(), caller.GetUID(), caller.GetGroups(), caller.GetExtra())
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
