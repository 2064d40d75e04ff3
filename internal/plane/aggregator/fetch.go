// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

const (
	acceptJSON = "application/json"
	// maxUpstreamDiscovery and maxUpstreamOpenAPI bound what is read into memory of the upstream
	// cluster's documents: clusters of very many custom resources have a tenth of that.
	maxUpstreamDiscovery = 32 << 20
	maxUpstreamOpenAPI   = 128 << 20
	fetchTimeout         = 30 * time.Second
)

var errTooLarge = errors.New("the answer is too large")

// readBody returns the body of an answer of at most limit bytes.
func readBody(answer *http.Response, limit int64) ([]byte, error) {
	if answer.ContentLength > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", errTooLarge, answer.ContentLength, limit)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: at most %d bytes are read", errTooLarge, limit)
	}
	return data, nil
}

// fetcher reads documents of the upstream cluster with the aggregator's own credentials.
type fetcher struct {
	client *http.Client
	target *url.URL
}

func newFetcher(config *rest.Config) (*fetcher, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	target, err := upstreamAddress(config)
	if err != nil {
		return nil, err
	}
	return &fetcher{client: client, target: target}, nil
}

// document is an answer of the upstream cluster.
type document struct {
	status      int
	contentType string
	etag        string
	body        []byte
}

// get reads a path, at most limit bytes of it. Any status is an answer.
func (f *fetcher) get(ctx context.Context, path, accept, etag string, limit int64) (_ *document, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.target.JoinPath(path).String(), nil) //nolint:gosec // Always the configured cluster.
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	answer, err := f.client.Do(request) //nolint:gosec // As above.
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	body, err := readBody(answer, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &document{
		status: answer.StatusCode, contentType: answer.Header.Get("Content-Type"), etag: answer.Header.Get("Etag"), body: body,
	}, nil
}
