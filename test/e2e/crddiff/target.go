// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	requestTimeout = 30 * time.Second
	busyTries      = 5
	agent          = "crddiff/v1"
)

// Target is one of the two servers.
type Target struct {
	Name string

	base   *url.URL
	client *http.Client
	owner  string // UID of the object that others may belong to
}

// NewTarget returns the server that config leads to. owner is the UID of the ConfigMap that
// objects in the namespace of the runner are made to belong to.
func NewTarget(name string, config *rest.Config, owner string) (*Target, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.Timeout = agent, 0 // Field managers are named after it.
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of %s: %w", name, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", name, err)
	}
	return &Target{Name: name, base: base, client: client, owner: owner}, nil
}

// request is what is really sent.
type request struct {
	method, path, body string
	query              url.Values
	header             map[string]string
}

// open sends a request, again if the server is busy. The body is the caller's to close.
func (t *Target) open(ctx context.Context, r request) (*http.Response, error) {
	address := t.base.JoinPath(r.path)
	if strings.HasSuffix(r.path, "/") && !strings.HasSuffix(address.Path, "/") {
		address.Path += "/"
	}
	address.RawQuery = r.query.Encode()
	for try := 1; ; try++ {
		sent, err := http.NewRequestWithContext(ctx, r.method, address.String(), strings.NewReader(r.body))
		if err != nil {
			return nil, err
		}
		if r.body == "" {
			sent.Body = http.NoBody
		}
		sent.Header.Set("Accept", typeJSON)
		for name, value := range r.header {
			sent.Header.Set(name, value)
		}
		answer, err := t.client.Do(sent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if answer.StatusCode != http.StatusTooManyRequests || try == busyTries {
			return answer, nil
		}
		if err := pause(ctx, answer); err != nil {
			return nil, err
		}
	}
}

// pause waits as long as a busy server asks for, and closes its answer.
func pause(ctx context.Context, answer *http.Response) error {
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	timer := time.NewTimer(time.Duration(max(seconds, 1)) * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return answer.Body.Close()
}

// do sends a request and reads the answer. A connection that breaks is one, too: servers that panic
// do that.
func (t *Target) do(ctx context.Context, r request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := t.open(ctx, r)
	if err != nil {
		return broken(ctx, err)
	}
	defer answer.Body.Close() //nolint:errcheck // It is read.
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return broken(ctx, err)
	}
	return newAnswer(answer, body), nil
}

// broken returns what is compared if there is no whole answer.
func broken(ctx context.Context, err error) (*Answer, error) {
	if ctx.Err() != nil {
		return nil, err
	}
	return &Answer{Body: fmt.Sprintf("no answer: %v", err)}, nil
}
