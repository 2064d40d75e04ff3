// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// What is longer than this is no recording that anybody can review.
const (
	maxBody      = 1 << 20
	maxExchanges = 500
)

// Groups returns the API groups of reports, whose requests are recorded.
func Groups() []string {
	return []string{"wgpolicyk8s.io", "openreports.io", "reports.kyverno.io"}
}

// Proxy stands between a program and an API server. It passes everything on, with the rights of its
// own configuration, and keeps the requests to the groups of reports with their answers. Those it
// passes on one after the other, a watch as soon as it is accepted: what is recorded is a history
// that can be repeated.
type Proxy struct {
	upstream *url.URL
	secrets  []string
	forward  *httputil.ReverseProxy

	order sync.Mutex // held while a request to be recorded is answered

	mu        sync.Mutex // guards what follows
	exchanges []*live
	problems  []error
}

// live is an exchange as it came.
type live struct {
	request     Request
	body        []byte
	status      int
	header      http.Header
	answer      bytes.Buffer
	watch, open bool
}

// NewProxy returns a proxy for the server of a configuration.
func NewProxy(config *rest.Config) (*Proxy, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true // What is recorded must be readable.
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("transport to the API server: %w", err)
	}
	upstream, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	p := &Proxy{upstream: upstream, secrets: []string{upstream.Host}}
	if config.BearerToken != "" {
		p.secrets = append(p.secrets, config.BearerToken)
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      transport,
		FlushInterval:  -1, // An event is passed on when it comes.
		ModifyResponse: p.answered,
		ErrorHandler:   p.failed,
	}
	return p, nil
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	r.Out.Header.Del("Authorization") // The transport has its own.
	r.Out.Header.Del("Accept-Encoding")
}

// inFlight is the key of the exchange in the context of its request.
type inFlight struct{}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !recorded(r.URL.Path) {
		p.forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		p.problem(fmt.Errorf("body of %s %s: %w", r.Method, r.URL.Path, err))
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	x := &live{body: body, request: Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: picked(r.Header, "Accept", "Content-Type", "User-Agent")}}
	x.watch = x.request.watches()
	p.order.Lock()
	next := sync.OnceFunc(p.order.Unlock)
	defer next()
	p.begin(x)
	ctx := context.WithValue(r.Context(), inFlight{}, func(response *http.Response) error {
		defer next()
		return p.keep(x, response)
	})
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

// recorded says whether a path is of a resource in a group of reports. Discovery is compared by
// test/e2e/crddiff.
func recorded(path string) bool {
	rest, ok := strings.CutPrefix(path, "/apis/")
	segments := strings.Split(rest, "/")
	return ok && len(segments) > 2 && slices.Contains(Groups(), segments[0])
}

// picked returns those headers that are there.
func picked(header http.Header, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if values := header.Values(name); len(values) > 0 {
			out[name] = strings.Join(values, ", ")
		}
	}
	return out
}

func (p *Proxy) begin(x *live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.exchanges) <= maxExchanges { // One more, so that it shows.
		p.exchanges = append(p.exchanges, x)
	}
}

// answered is called with the header of each answer.
func (*Proxy) answered(response *http.Response) error {
	if keep, ok := response.Request.Context().Value(inFlight{}).(func(*http.Response) error); ok {
		return keep(response)
	}
	return nil
}

// keep keeps an answer: a body is read before it is passed on, a watch while it is.
func (p *Proxy) keep(x *live, response *http.Response) error {
	streams := x.watch && response.StatusCode == http.StatusOK
	p.mu.Lock()
	x.status, x.header, x.open, x.watch = response.StatusCode, response.Header.Clone(), streams, streams
	p.mu.Unlock()
	if streams {
		response.Body = &tee{response.Body, p, x}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if len(data) > maxBody {
		return fmt.Errorf("the answer has more than %d bytes: record with fewer objects", maxBody)
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = x.answer.Write(data)
	return err
}

// failed is called when there is no answer.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if recorded(r.URL.Path) && r.Context().Err() == nil {
		p.problem(fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	}
	http.Error(w, "the recording proxy: "+err.Error(), http.StatusBadGateway)
}

func (p *Proxy) problem(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, err)
}

// tee keeps what is read.
type tee struct {
	io.ReadCloser
	proxy *Proxy
	live  *live
}

// Read implements io.Reader.
func (t *tee) Read(data []byte) (int, error) {
	n, err := t.ReadCloser.Read(data)
	t.proxy.mu.Lock()
	defer t.proxy.mu.Unlock()
	if t.live.answer.Len() <= maxBody { // Once more, so that it shows.
		_, _ = t.live.answer.Write(data[:n]) // It never fails.
	}
	t.live.open = t.live.open && err == nil
	return n, err
}

// Close implements io.Closer.
func (t *tee) Close() error {
	t.proxy.mu.Lock()
	t.live.open = false
	t.proxy.mu.Unlock()
	return t.ReadCloser.Close()
}

// Recording returns the exchanges until now, with symbols. Secrets are words besides the address and the
// token of the server that must not be in it. It returns an error for everything that could not be recorded.
func (p *Proxy) Recording(header Header, secrets ...string) (*Recording, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := slices.Clone(p.problems)
	if len(p.exchanges) > maxExchanges {
		problems = append(problems, fmt.Errorf("there are more than %d requests: record a shorter run", maxExchanges))
	}
	out, n := &Recording{Header: header}, newNormalizer()
	var decoded []Exchange
	for i, x := range p.exchanges {
		exchange, err := x.decoded()
		if err != nil {
			problems = append(problems, fmt.Errorf("exchange %d, %s %s: %w", i+1, x.request.Method, x.request.Path, err))
			continue
		}
		decoded = append(decoded, exchange)
	}
	n.number(decoded)
	for _, exchange := range decoded {
		out.Exchanges = append(out.Exchanges, n.exchange(exchange))
	}
	if err := errors.Join(append(problems, n.err)...); err != nil {
		return nil, err
	}
	return out, out.without(append(secrets, p.secrets...))
}

// decoded returns the exchange with JSON.
func (x *live) decoded() (Exchange, error) {
	out := Exchange{Request: x.request, Response: Response{Status: x.status, Header: picked(x.header, "Content-Type", "Warning"), Open: x.open}}
	var err error
	if out.Request.Body, err = decodeBody(x.request.Header["Content-Type"], x.body); err != nil {
		return out, fmt.Errorf("request: %w", err)
	}
	contentType := x.header.Get("Content-Type")
	if !x.watch {
		out.Response.Body, err = decodeBody(contentType, x.answer.Bytes())
		return out, err
	}
	if x.answer.Len() > maxBody {
		return out, fmt.Errorf("the watch has more than %d bytes: record a shorter run", maxBody)
	}
	stream, err := newEvents(contentType, bytes.NewReader(x.answer.Bytes()))
	if err != nil {
		return out, err
	}
	for {
		event, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Response.Events = append(out.Response.Events, event)
	}
}

// without returns an error when a word is in the recording.
func (r *Recording) without(words []string) error {
	var all bytes.Buffer
	if err := r.Write(&all); err != nil {
		return err
	}
	for n, line := range bytes.Split(all.Bytes(), []byte("\n")) {
		for _, word := range words {
			if word != "" && bytes.Contains(line, []byte(word)) {
				return fmt.Errorf("line %d would tell an address, a folder or a token of this machine: record with other contents", n+1)
			}
		}
	}
	return nil
}
