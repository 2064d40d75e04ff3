// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

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
	// maxDiscovery and maxOpenAPI bound what is read into memory: clusters of very many
	// custom resources have a tenth of that.
	maxDiscovery = 32 << 20
	maxOpenAPI   = 128 << 20
	fetchTimeout = 30 * time.Second
)

// errTooLarge is returned for documents beyond their limit.
var errTooLarge = errors.New("the answer is larger than")

// fetcher reads documents of the cluster with the gateway's own credentials.
type fetcher struct {
	client *http.Client
	target *url.URL
}

func newFetcher(config *rest.Config) (*fetcher, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	target, err := targetOf(config)
	if err != nil {
		return nil, err
	}
	return &fetcher{client: client, target: target}, nil
}

// document is an answer of the cluster.
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.target.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("read %s: %w %d bytes", path, errTooLarge, limit)
	}
	return &document{
		status: response.StatusCode, contentType: response.Header.Get("Content-Type"), etag: response.Header.Get("Etag"), body: body,
	}, nil
}
