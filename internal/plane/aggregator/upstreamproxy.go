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

	"k8s.io/client-go/rest"
)

const (
	// requestBufferBytes copies answers in few pieces, streamBufferBytes costs little for each
	// of thousands of watches.
	requestBufferBytes = 32 << 10
	streamBufferBytes  = 2 << 10
)

// UpstreamProxy passes requests on to a cluster, with the credentials of a configuration or of
// those who ask. The cluster decides about them, and its answers are passed back as they are.
type UpstreamProxy struct {
	target                   *url.URL
	streams                  *Streams
	request, stream, upgrade upstreamWay
}

// upstreamWay is how requests of one kind are passed on.
type upstreamWay struct {
	kind      string
	transport http.RoundTripper
	buffers   *buffers
	flush     time.Duration
}

// NewUpstreamProxy returns a proxy whose watches and connections end with streams.
//
// There are two transports. HTTP/1.1 is for single requests, each of which has a
// connection for itself (lower latency than many on one), and for upgrades, which HTTP/2
// doesn't have. HTTP/2 is for streams: thousands of watches share a few connections.
func NewUpstreamProxy(config *rest.Config, streams *Streams) (*UpstreamProxy, error) {
	config = rest.CopyConfig(config)
	target, err := upstreamAddress(config)
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
	requests := newBuffers(requestBufferBytes)
	return &UpstreamProxy{
		target: target, streams: streams,
		request: upstreamWay{kindRequest, one, requests, 0},
		// Each piece is for a person or a controller that waits for it.
		stream:  upstreamWay{kindStream, many, newBuffers(streamBufferBytes), -1},
		upgrade: upstreamWay{kindUpgrade, one, requests, -1},
	}, nil
}

// upstreamAddress returns the address of the cluster.
func upstreamAddress(config *rest.Config) (*url.URL, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the cluster: %w", err)
	}
	if target.Scheme != "https" {
		return nil, fmt.Errorf("address of the cluster: %s is not https; credentials don't go over plain connections", target.Redacted())
	}
	return target, nil
}

// Serve passes a request on. change sets who asks, in the headers of the request; those that
// only a trusted proxy may set are gone by then.
func (u *UpstreamProxy) Serve(w http.ResponseWriter, r *http.Request, change func(http.Header)) {
	way := u.wayOf(r)
	inFlight := upstreamInFlight.WithLabelValues(way.kind)
	inFlight.Inc()
	defer inFlight.Dec()
	if way.kind != kindRequest {
		ctx, done := u.streams.Add(r.Context())
		defer done()
		r = r.WithContext(ctx)
	}
	f := forward{
		target: u.target, transport: way.transport, buffers: way.buffers, flush: way.flush,
		rewrite: func(r *httputil.ProxyRequest) {
			// ReverseProxy would call itself Go-http-client, or nothing.
			if len(r.Out.Header["User-Agent"]) == 0 {
				r.Out.Header.Set("User-Agent", "docket-gateway")
			}
			change(r.Out.Header)
		},
		check: func(answer *http.Response) error {
			upstreamRequests.WithLabelValues(way.kind, strconv.Itoa(answer.StatusCode)).Inc()
			return nil
		},
		fail: func(w http.ResponseWriter, r *http.Request, err error) { u.fail(w, r, way.kind, err) },
	}
	f.serve(w, r)
}

func (u *UpstreamProxy) fail(w http.ResponseWriter, r *http.Request, kind string, err error) {
	switch cause := context.Cause(r.Context()); {
	case errors.Is(cause, errEnding):
		err = errEnding
	case errors.Is(cause, context.Canceled):
		return // Nobody waits for an answer.
	}
	upstreamRequests.WithLabelValues(kind, strconv.Itoa(http.StatusServiceUnavailable)).Inc()
	writeError(w, r, Unavailable("the cluster at %s can't be reached through docket gateway: %v", u.target.Host, err))
}

// wayOf tells how a request is passed on. Nothing depends on it but speed and memory:
// a stream that is not recognized as one is flushed all the same, since its length is
// not known.
func (u *UpstreamProxy) wayOf(r *http.Request) *upstreamWay {
	if isUpgrade(r) {
		return &u.upgrade
	}
	query := r.URL.RawQuery
	if strings.Contains(query, "watch=") || strings.Contains(query, "follow=") || strings.Contains(r.URL.Path, "/watch/") {
		return &u.stream
	}
	return &u.request
}
