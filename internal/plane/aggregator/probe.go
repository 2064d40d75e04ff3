// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	probeTimeout = 5 * time.Second
	// maxDiscoveryBytes is some hundred times what a group version with many resources has.
	maxDiscoveryBytes = 4 << 20
	aggregatorUser    = "system:kube-aggregator"
)

var errNotFound = errors.New("not found")

// fetch gets a document from an extension server, as the aggregator. The document is at most
// limit bytes, and redirects are not followed.
func (b *backend) fetch(ctx context.Context, path string, limit int64) ([]byte, error) {
	target, err := b.address()
	if err != nil {
		return nil, err
	}
	u := *target
	u.Path = path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", acceptJSON)
	setCaller(r, &user.DefaultInfo{Name: aggregatorUser, Groups: []string{user.SystemPrivilegedGroup}})
	answer, err := b.transport.requests.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // The rest is not needed.
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("answers with status %d", answer.StatusCode)
	}
	return readBody(answer, limit)
}

// probe asks an extension server for the resources of its group version. That is what every
// client asks first, and what discovery is made of.
func (b *backend) probe(ctx context.Context) ([]metav1.APIResource, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	data, err := b.fetch(ctx, b.path(), maxDiscoveryBytes)
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("does not answer with an APIResourceList in JSON: %w", err)
	}
	if list.Kind != "APIResourceList" || list.GroupVersion != b.groupVersion().String() {
		return nil, fmt.Errorf("answers with kind %.60q, group version %.60q, not with the APIResourceList of %s",
			list.Kind, list.GroupVersion, b.groupVersion())
	}
	return list.APIResources, nil
}
