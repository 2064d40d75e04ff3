// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// maxRedirects is how many redirects of a call are followed.
	maxRedirects = 3
	// maxHeaders is how many bytes the headers of an answer may have.
	maxHeaders = 256 << 10
	// maxClients is how many sets of certificates a [Client] keeps connections for.
	maxClients = 64
)

// client is the one way out of the process for what policies and entries ask of services.
func (c Config) client(roots *x509.CertPool) *http.Client {
	return &http.Client{
		CheckRedirect: redirect,
		Transport: &http.Transport{
			// No proxy: it would look up names itself, and the guard would see its address only.
			DialContext:            (&net.Dialer{Control: c.Control()}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        time.Minute,
		},
	}
}

// Control returns what decides to which addresses connections may be made, for a dialer. Its error is
// a [*BlockedError].
func (c Config) Control() func(network, address string, connection syscall.RawConn) error {
	return (&guard{allow: c.Allow, block: c.Block}).control
}

// Public returns what refuses addresses that are not public, with a [*BlockedError], but those in the ranges.
func (c Config) Public(allow []netip.Prefix) func(netip.Addr) error {
	return (&guard{allow: slices.Concat(c.Allow, allow), block: c.Block, beside: private}).check
}

// redirect is asked before each redirect is followed.
func redirect(next *http.Request, via []*http.Request) error {
	refuse := func(why string) error {
		return &failure{ReasonRedirect, fmt.Errorf("it redirects: %s", why)}
	}
	first, elsewhere := via[0], false
	for _, hop := range slices.Concat(via, []*http.Request{next}) {
		elsewhere = elsewhere || hop.URL.Host != first.URL.Host
	}
	switch {
	case len(via) > maxRedirects:
		return refuse(fmt.Sprintf("more than %d redirects", maxRedirects))
	case first.URL.Scheme != "https" || next.URL.Scheme != "https":
		return refuse("only redirects from https to https are followed: give the final url")
	case elsewhere && next.Method != http.MethodGet:
		return refuse("data are not posted to another host: give the final url")
	case elsewhere:
		// Any header may be a credential, by whatever name, also where it leads back to the first host.
		next.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {"docket-controller"}} //nolint:gosec // These two are no secrets.
	}
	next.Header.Del("Referer") // It has the query.
	return nil
}

// Answer is what a service says, whatever its status.
type Answer struct {
	Status int
	// Body is of limited size, and may not be JSON.
	Body        []byte
	contentType string
}

// Client makes requests, and keeps connections between them.
type Client struct {
	config Config

	mu sync.Mutex
	// clients are by the certificates that they accept.
	clients map[string]*http.Client
}

// NewClient returns a client that follows a configuration.
func NewClient(config Config) *Client {
	return &Client{config: config.completed(), clients: map[string]*http.Client{}}
}

// Do returns the JSON of the answer of a service or, for a path, of the cluster's own API. Errors have no secrets:
// neither headers, nor what is posted, nor the query of the URL; and nothing of the answer, which may be one. [Reason]
// says what kind of error it is.
func (c *Client) Do(ctx context.Context, request Request) ([]byte, error) {
	if request.Path == "" {
		return c.JSON(ctx, request)
	}
	asked, err := c.prepare(request)
	if err != nil {
		return nil, err
	}
	return within(ctx, asked, asked.cluster)
}

// JSON is [Client.Do] for services only.
func (c *Client) JSON(ctx context.Context, request Request) ([]byte, error) {
	asked, err := c.service(request)
	if err != nil {
		return nil, err
	}
	return within(ctx, asked, asked.service)
}

// Ask returns the answer of a service, whatever its status. Errors are those of [Client.Do].
func (c *Client) Ask(ctx context.Context, request Request) (*Answer, error) {
	asked, err := c.service(request)
	if err != nil {
		return nil, err
	}
	return within(ctx, asked, asked.send)
}

func (c *Client) service(request Request) (*prepared, error) {
	if request.Path != "" {
		return nil, wrong(FieldPath, "is not that of a service")
	}
	return c.prepare(request)
}

// prepare returns a request that can be made. The error is a [*FieldError].
func (c *Client) prepare(request Request) (*prepared, error) {
	if err := request.Check(); err != nil {
		return nil, err
	}
	request.Method = cmp.Or(request.Method, http.MethodGet)
	target, err := request.target()
	if err != nil {
		return nil, err
	}
	body, err := request.body()
	if err != nil {
		return nil, err
	}
	client, err := c.clientFor(&request)
	if err != nil {
		return nil, err
	}
	return &prepared{config: c.config, request: request, target: target, body: body, client: client}, nil
}

func (c *Client) clientFor(request *Request) (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[request.CABundle]; known != nil {
		return known, nil
	}
	roots, err := request.roots()
	if err != nil {
		return nil, err
	}
	if len(c.clients) >= maxClients {
		for bundle, client := range c.clients {
			client.CloseIdleConnections()
			delete(c.clients, bundle)
		}
	}
	next := c.config.client(roots)
	c.clients[request.CABundle] = next
	return next, nil
}
