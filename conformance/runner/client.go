// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxAnswer is how much of an answer is read, in bytes: lists of a large cluster are not.
	maxAnswer = 64 << 20
	// busyTries is how often a request is repeated that the server has no time for.
	busyTries = 4
)

// client sends requests to one server, as one user or as nobody.
type client struct {
	base         *url.URL
	user, nobody *http.Client
}

func newClient(config *rest.Config, userAgent string, wrap func(http.RoundTripper) http.RoundTripper) (*client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.Timeout = userAgent, 0 // Contexts limit the time.
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	if base.Path == "" {
		base.Path = "/"
	}
	anonymous := rest.AnonymousClientConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
		anonymous.Wrap(wrap)
	}
	user, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection to the server: %w", err)
	}
	nobody, err := rest.HTTPClientFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("connection to the server: %w", err)
	}
	// A redirect is an answer.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	// The clients may be shared ones.
	return &client{
		base: base,
		user: &http.Client{Transport: user.Transport, CheckRedirect: stay}, nobody: &http.Client{Transport: nobody.Transport, CheckRedirect: stay},
	}, nil
}

// open sends a request, whose path is escaped. The body is the caller's to close.
func (c *client) open(ctx context.Context, r Request) (*http.Response, *Exchange, error) {
	path, err := url.Parse(r.Path)
	if err != nil {
		return nil, nil, err
	}
	address := c.base.JoinPath(path.EscapedPath())
	address.RawQuery = r.Query.Encode()
	exchange := &Exchange{Sent: sentOf(r, address)}
	for try := 1; ; try++ {
		request, err := http.NewRequestWithContext(ctx, r.Method, address.String(), bytes.NewReader(r.Body))
		if err != nil {
			return nil, nil, err
		}
		request.Header = r.Header.Clone()
		sender := c.user
		if r.Anonymous {
			sender = c.nobody
		}
		response, err := sender.Do(request)
		if err != nil {
			if wrapped, ok := errors.AsType[*url.Error](err); ok {
				err = wrapped.Err // Without the address, which is said before.
			}
			return nil, exchange, fmt.Errorf("%s %s: %w", r.Method, exchange.Sent.URL, err)
		}
		if response.StatusCode != http.StatusTooManyRequests || try == busyTries || !c.pause(ctx, response) {
			exchange.Received = &Received{Code: response.StatusCode, Headers: shownHeaders(response.Header)}
			return response, exchange, nil
		}
	}
}

// pause waits as long as a busy server asks for. It returns false if that can't be done; else the answer is closed.
func (c *client) pause(ctx context.Context, response *http.Response) bool {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds > 10 {
		return false
	}
	return pause(ctx, time.Duration(max(seconds, 1))*time.Second) == nil && response.Body.Close() == nil
}

// do sends a request and reads the answer. What is made when a run is interrupted is waited for, so that the
// clean-up finds it.
func (c *client) do(ctx context.Context, r Request) (*Response, error) {
	if r.Method == http.MethodPost {
		lingering, cancel := linger(ctx)
		defer cancel()
		ctx = lingering
	}
	answer, exchange, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	return read(r, answer, exchange)
}

// read reads an answer to its end.
func read(r Request, answer *http.Response, exchange *Exchange) (*Response, error) {
	defer answer.Body.Close() //nolint:errcheck // It is read.
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the answer: %w", r.Method, exchange.Sent.URL, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer has more than %d bytes", r.Method, exchange.Sent.URL, maxAnswer)
	}
	exchange.Received.Body = shown(body)
	response := &Response{Exchange: exchange, Code: answer.StatusCode, Header: answer.Header, Body: body}
	return response, response.rightsError(r)
}

// lingerTime is how long a creation may go on that nobody waits for any more.
const lingerTime = 5 * time.Second

// linger returns a context that ends lingerTime after ctx, or by cancel.
func linger(ctx context.Context) (context.Context, context.CancelFunc) {
	lingering, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lingerTime, cancel)
		context.AfterFunc(lingering, func() { timer.Stop() })
	})
	return lingering, func() {
		stop()
		cancel()
	}
}

// rightsError returns what it means if the request was refused before anybody looked at it.
func (r *Response) rightsError(request Request) error {
	if request.Refusable || request.Anonymous {
		return nil
	}
	switch r.Code {
	case http.StatusUnauthorized:
		return &SetupError{Wanted: "the server does not know the user of the kubeconfig", Exchange: r.Exchange}
	case http.StatusForbidden:
		status, _ := r.Status()
		if status != nil && status.Reason == metav1.StatusReasonForbidden && deniedByAuthorizer(status.Message) {
			return leftOut("not allowed: %s", status.Message)
		}
	}
	return nil
}

// deniedByAuthorizer tells the message of the library of API servers from those of admission:
// User "x" cannot create resource "pods" in API group "" in the namespace "y".
func deniedByAuthorizer(message string) bool {
	_, rest, found := strings.Cut(message, "\" cannot ")
	return found && (strings.Contains(rest, " resource ") || strings.Contains(rest, " path "))
}
