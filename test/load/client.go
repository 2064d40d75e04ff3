// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// dialTimeout bounds one TCP connection.
const dialTimeout = 10 * time.Second

// client sends requests with the credentials of a kubeconfig, over several connections.
// It is safe for concurrent use.
type client struct {
	base       string
	transports []http.RoundTripper
}

// newClients returns the client of all requests, and that of watches.
func newClients(o *options) (requests, watches *client, err error) {
	config, err := restConfig(o)
	if err != nil {
		return nil, nil, err
	}
	if requests, err = newClient(o, config); err != nil || o.watchKubeconfig == "" {
		return requests, requests, err
	}
	if config, err = kubeconfig(o.watchKubeconfig, ""); err != nil {
		return nil, nil, fmt.Errorf("--watch-kubeconfig: %w", err)
	}
	watches, err = newClient(o, config)
	return requests, watches, err
}

func newClient(o *options, config *rest.Config) (*client, error) {
	config.UserAgent = "docket-load"
	config.DisableCompression = !o.gzip
	c := &client{base: strings.TrimSuffix(config.Host, "/")}
	if !strings.Contains(c.base, "://") {
		c.base = "https://" + c.base
	}
	for range o.connections {
		// A dialer of its own keeps client-go from sharing one transport.
		config.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
		transport, err := rest.TransportFor(config)
		if err != nil {
			return nil, fmt.Errorf("prepare a connection to %s: %w", config.Host, err)
		}
		c.transports = append(c.transports, transport)
	}
	return c, nil
}

func restConfig(o *options) (*rest.Config, error) {
	if o.server != "" {
		return &rest.Config{
			Host:            o.server,
			BearerToken:     o.token,
			TLSClientConfig: rest.TLSClientConfig{CAFile: o.ca, Insecure: o.insecure},
		}, nil
	}
	return kubeconfig(o.kubeconfig, o.context)
}

func kubeconfig(path, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
}

// statusError is an answer with a status that the caller did not expect.
type statusError struct {
	status int
	body   string // its beginning
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, http.StatusText(e.status), e.body)
}

// open sends a request and returns the body of the answer, which the caller closes.
// number chooses the connection.
func (c *client) open(ctx context.Context, number int, method, path string, body []byte, want int) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.transports[number%len(c.transports)].RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == want {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }()
	start, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return nil, err
	}
	return nil, &statusError{response.StatusCode, strings.TrimSpace(string(start))}
}

// do sends a request and reads the answer into buffer, whose memory it reuses.
func (c *client) do(ctx context.Context, number int, method, path string, body []byte, want int, buffer *bytes.Buffer) error {
	answer, err := c.open(ctx, number, method, path, body, want)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	buffer.Reset()
	_, err = buffer.ReadFrom(answer)
	return err
}
