// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

func (c Config) completed() Config {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxResponse = cmp.Or(c.MaxResponse, DefaultMaxResponse)
	return c
}

// prepared is a request that has been checked.
type prepared struct {
	config  Config
	request Request
	target  *url.URL
	body    []byte
	client  *http.Client
}

// within bounds the time of a call, and names it in its errors.
func within[T any](ctx context.Context, c *prepared, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, errTimeout)
	defer cancel()
	answer, err := do(ctx)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, errTimeout) {
		err = &failure{ReasonTimeout, fmt.Errorf("no answer within %s: %w", c.config.Timeout, context.DeadlineExceeded)}
	}
	var none T
	return none, fmt.Errorf("%s %s: %w", c.request.Method, plain(c.target), err)
}

// plain returns the part of a URL that has no secrets.
func plain(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// service returns the JSON of an answer that is a success.
func (c *prepared) service(ctx context.Context) ([]byte, error) {
	answer, err := c.send(ctx)
	if err != nil {
		return nil, err
	}
	if answer.Status < http.StatusOK || answer.Status >= http.StatusMultipleChoices {
		return nil, &failure{ReasonStatus, fmt.Errorf("the answer is %d %s", answer.Status, http.StatusText(answer.Status))}
	}
	return answer.Body, checkJSON(answer.Body, answer.contentType)
}

// send asks the service.
func (c *prepared) send(ctx context.Context) (*Answer, error) {
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
	if response.ContentLength > c.config.MaxResponse {
		return nil, c.tooLong()
	}
	data, err := c.read(response.Body)
	return &Answer{Status: response.StatusCode, Body: data, contentType: response.Header.Get("Content-Type")}, err
}

// read returns a body of limited size.
func (c *prepared) read(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, c.config.MaxResponse+1))
	if err != nil {
		return nil, classify(err)
	}
	if int64(len(data)) > c.config.MaxResponse {
		return nil, c.tooLong()
	}
	return data, nil
}

func (c *prepared) tooLong() error {
	return &failure{ReasonSize, fmt.Errorf("the answer has more than %d bytes", c.config.MaxResponse)}
}

// cluster asks the cluster's own API.
func (c *prepared) cluster(ctx context.Context) ([]byte, error) {
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
	data, err := c.read(body)
	if err != nil {
		return nil, err
	}
	return data, checkJSON(data, "")
}
