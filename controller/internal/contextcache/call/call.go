// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// DefaultTimeout is how long a call may take, its answer included.
	DefaultTimeout = 10 * time.Second
	// DefaultMaxResponse is how many bytes an answer may have.
	DefaultMaxResponse = 8 << 20
	// maxRedirects is how many redirects of a call are followed.
	maxRedirects = 3
	// maxHeaders is how many bytes the headers of an answer may have.
	maxHeaders = 256 << 10
)

// Config is what calls have in common.
type Config struct {
	// REST is for paths of the cluster's own API; nil if there is no cluster.
	REST rest.Interface
	// Timeout and MaxResponse limit a call; 0 is the default.
	Timeout     time.Duration
	MaxResponse int64
	// Allow are ranges that may be called although they are blocked by default: loopback,
	// link-local, multicast and the metadata services of clouds. Block may never be called.
	Allow, Block []netip.Prefix
}

// Call is a request that can be made again and again.
type Call struct {
	config  Config
	request Request
	target  *url.URL
	body    []byte
	client  *http.Client
}

// New returns a call. The error is a [*FieldError].
func New(config Config, request Request) (*Call, error) {
	if err := request.Check(); err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.MaxResponse == 0 {
		config.MaxResponse = DefaultMaxResponse
	}
	if request.Method == "" {
		request.Method = http.MethodGet
	}
	target, err := request.target()
	if err != nil {
		return nil, err
	}
	body, err := request.body()
	if err != nil {
		return nil, err
	}
	roots, err := request.roots()
	if err != nil {
		return nil, err
	}
	guard := &guard{allow: config.Allow, block: config.Block}
	c := &Call{config: config, request: request, target: target, body: body}
	c.client = &http.Client{
		CheckRedirect: c.redirect,
		Transport: &http.Transport{
			// No proxy: it would look up names itself, and the guard would see its address only.
			DialContext:            (&net.Dialer{Control: guard.control}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConns:           1,
			IdleConnTimeout:        time.Minute,
		},
	}
	return c, nil
}

// Close ends connections that wait for the next call.
func (c *Call) Close() { c.client.CloseIdleConnections() }

// Do makes the request and returns the JSON of the answer. Errors have no secrets: neither headers,
// nor what is posted, nor the query of the URL. [Reason] says what kind of error it is.
func (c *Call) Do(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, errTimeout)
	defer cancel()
	do := c.service
	if c.request.Path != "" {
		do = c.cluster
	}
	data, err := do(ctx)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errTimeout) {
			err = &failure{ReasonTimeout, fmt.Errorf("no answer within %s: %w", c.config.Timeout, context.DeadlineExceeded)}
		}
		return nil, fmt.Errorf("%s %s: %w", c.request.Method, plain(c.target), err)
	}
	return data, nil
}

// plain returns the part of a URL that has no secrets.
func plain(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (c *Call) service(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, c.request.Method, c.target.String(), bytes.NewReader(c.body))
	if err != nil {
		return nil, &failure{ReasonOther, errors.New("the request can't be made")}
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "docket-controller")
	if c.request.Method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range c.request.Headers {
		request.Header.Set(header.Key, header.Value)
	}
	response, err := c.client.Do(request)
	if err != nil {
		var wrapped *url.Error // Its text has the whole URL.
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, classify(err)
	}
	defer response.Body.Close() //nolint:errcheck // Nothing is written.
	kind := response.Header.Get("Content-Type")
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		return nil, &failure{ReasonStatus, fmt.Errorf("the answer is %d %s", response.StatusCode, http.StatusText(response.StatusCode))}
	}
	if response.ContentLength > c.config.MaxResponse {
		return nil, c.tooLong()
	}
	return c.read(response.Body, kind)
}

// read returns a body of limited size that is JSON.
func (c *Call) read(body io.Reader, contentType string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, c.config.MaxResponse+1))
	if err != nil {
		return nil, classify(err)
	}
	if int64(len(data)) > c.config.MaxResponse {
		return nil, c.tooLong()
	}
	return data, checkJSON(data, contentType)
}

func (c *Call) tooLong() error {
	return &failure{ReasonSize, fmt.Errorf("the answer has more than %d bytes", c.config.MaxResponse)}
}

// redirect is asked before each redirect is followed.
func (c *Call) redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	refuse := func(why string) error {
		return &failure{ReasonRedirect, fmt.Errorf("redirect to %s://%s: %s", next.URL.Scheme, next.URL.Host, why)}
	}
	switch {
	case len(via) > maxRedirects:
		return refuse(fmt.Sprintf("more than %d redirects", maxRedirects))
	case first.URL.Scheme != "https" || next.URL.Scheme != "https":
		return refuse("only redirects from https to https are followed: give the final url")
	case next.URL.Host == first.URL.Host:
		return nil
	case next.Method != http.MethodGet:
		return refuse("data are not posted to another host: give the final url")
	}
	// Headers may be credentials, by whatever name.
	for _, header := range c.request.Headers {
		next.Header.Del(header.Key)
	}
	return nil
}

// cluster asks the cluster's own API.
func (c *Call) cluster(ctx context.Context) ([]byte, error) {
	if c.config.REST == nil {
		return nil, &failure{ReasonOther, errors.New("there is no cluster to ask")}
	}
	request := c.config.REST.Verb(c.request.Method).AbsPath(c.target.Path).SetHeader("Accept", "application/json")
	for name, values := range c.target.Query() {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	if c.body != nil {
		request = request.SetHeader("Content-Type", "application/json").Body(c.body)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, classify(err)
	}
	defer body.Close() //nolint:errcheck // Nothing is written.
	return c.read(body, "")
}
