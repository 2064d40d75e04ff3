// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

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

	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/docket-project/docket/internal/aggregator"
)

const (
	// requestBuffer copies answers in few pieces, streamBuffer costs little for each of
	// thousands of watches.
	requestBuffer = 32 << 10
	streamBuffer  = 2 << 10
)

// upstream passes requests on to the cluster.
type upstream struct {
	profile profile
	host    string
	live    *live
	request *httputil.ReverseProxy
	stream  *httputil.ReverseProxy
	upgrade *httputil.ReverseProxy
}

// newUpstream returns the proxy to the cluster of a configuration. The profile may be
// nil if only serve is called.
//
// There are two transports. HTTP/1.1 is for single requests, each of which has a
// connection for itself (lower latency than many on one), and for upgrades, which HTTP/2
// doesn't have. HTTP/2 is for streams: thousands of watches share a few connections.
func newUpstream(config *rest.Config, p profile, live *live) (*upstream, error) {
	config = rest.CopyConfig(config)
	target, err := targetOf(config)
	if err != nil {
		return nil, err
	}
	// Whether answers are compressed is between the client and the cluster.
	config.DisableCompression = true
	many, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("transport to the cluster: %w", err)
	}
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	one, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("transport to the cluster: %w", err)
	}
	u := &upstream{profile: p, host: target.Host, live: live}
	u.request = u.proxy(kindRequest, target, one, requestBuffer)
	u.stream = u.proxy(kindStream, target, many, streamBuffer)
	u.upgrade = u.proxy(kindUpgrade, target, one, requestBuffer)
	// Each piece is for a person or a controller that waits for it.
	u.stream.FlushInterval, u.upgrade.FlushInterval = -1, -1
	return u, nil
}

// targetOf returns the address of the cluster.
func targetOf(config *rest.Config) (*url.URL, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the cluster: %w", err)
	}
	if target.Scheme != "https" {
		return nil, fmt.Errorf("address of the cluster: %s is not https; credentials don't go over plain connections", target.Redacted())
	}
	return target, nil
}

func (u *upstream) proxy(kind string, target *url.URL, transport http.RoundTripper, buffer int) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			// The path is joined as it is: a slash more or less is another path.
			r.SetURL(target)
			cleanHeaders(r.Out.Header)
			if change, ok := r.In.Context().Value(changeKey{}).(func(http.Header)); ok {
				change(r.Out.Header)
			}
		},
		Transport:  transport,
		BufferPool: newBuffers(buffer),
		ErrorLog:   log.New(io.Discard, "", 0), // Who asked is told.
		ModifyResponse: func(r *http.Response) error {
			upstreamRequests.WithLabelValues(kind, strconv.Itoa(r.StatusCode)).Inc()
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil && errors.Is(err, context.Canceled) && !u.live.hasEnded() {
				return // Nobody waits for an answer.
			}
			upstreamRequests.WithLabelValues(kind, strconv.Itoa(http.StatusServiceUnavailable)).Inc()
			fail(w, r, unavailable("the cluster at %s can't be reached through docket gateway: %v", u.host, err))
		},
	}
}

type changeKey struct{}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	change, err := u.profile.pass(r)
	if err != nil {
		fail(w, r, err)
		return
	}
	u.serve(w, r, change)
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request, change func(http.Header)) {
	kind, proxy := u.kindOf(r)
	inFlight := upstreamInFlight.WithLabelValues(kind)
	inFlight.Inc()
	defer inFlight.Dec()
	ctx := context.WithValue(r.Context(), changeKey{}, change)
	if kind != kindRequest {
		var done func()
		ctx, done = u.live.add(ctx)
		defer done()
	}
	// It looks at the context of the client, not at that of the stream, which also ends with the server.
	aggregator.Leavable(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(ctx))
	})).ServeHTTP(w, r)
}

// kindOf tells how a request is passed on. Nothing depends on it but speed and memory:
// a stream that is not recognized as one is flushed all the same, since its length is
// not known.
func (u *upstream) kindOf(r *http.Request) (string, *httputil.ReverseProxy) {
	if httpstream.IsUpgradeRequest(r) {
		return kindUpgrade, u.upgrade
	}
	query := r.URL.RawQuery
	if strings.Contains(query, "watch=") || strings.Contains(query, "follow=") || strings.Contains(r.URL.Path, "/watch/") {
		return kindStream, u.stream
	}
	return kindRequest, u.request
}

// cleanHeaders removes what only a proxy that the cluster trusts may say.
func cleanHeaders(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" {
			h.Del(name)
		}
	}
	// ReverseProxy would call itself Go-http-client, or nothing.
	if agents := h["User-Agent"]; len(agents) == 0 {
		h.Set("User-Agent", "docket-gateway")
	}
}

// buffers is a httputil.BufferPool.
type buffers struct{ pool sync.Pool }

func newBuffers(size int) *buffers {
	return &buffers{pool: sync.Pool{New: func() any {
		b := make([]byte, size)
		return &b
	}}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return nil
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
