// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	apidiscovery "k8s.io/api/apidiscovery/v2"
)

// acceptDiscovery asks for everything in one document. v2beta1 has the same fields.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + acceptJSON

// errUnchanged is returned when the cluster serves what it did before.
var errUnchanged = errors.New("unchanged")

// discover returns the groups of the cluster in its order, and the tag of that answer.
func (f *fetcher) discover(ctx context.Context, etag string) ([]apidiscovery.APIGroupDiscovery, string, error) {
	answer, err := f.get(ctx, "/apis", acceptDiscovery, etag, maxUpstreamDiscovery)
	if err != nil {
		return nil, "", err
	}
	if answer.status == http.StatusNotModified {
		return nil, "", errUnchanged
	}
	if answer.status != http.StatusOK {
		return nil, "", fmt.Errorf("/apis answers %d: %s", answer.status, excerpt(answer.body))
	}
	if kind, parameters, err := mime.ParseMediaType(answer.contentType); err != nil || kind != acceptJSON || parameters["as"] != "APIGroupDiscoveryList" {
		return nil, "", fmt.Errorf("/apis answers with content of type %q, not with aggregated discovery: is this the address of a cluster of Kubernetes 1.29 or newer?", answer.contentType)
	}
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return nil, "", fmt.Errorf("/apis: %w", err)
	}
	return list.Items, answer.etag, nil
}

// excerpt is the beginning of a body, for messages.
func excerpt(body []byte) string {
	const most = 300
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
