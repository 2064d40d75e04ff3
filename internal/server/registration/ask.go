// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
)

const (
	// askTimeout bounds one question.
	askTimeout = 10 * time.Second
	// maxAnswer bounds an answer, which is a list of some names.
	maxAnswer = 1 << 20
)

// errAbsent: the cluster does not know what was asked for.
var errAbsent = errors.New("not served")

// asker reads parts of a cluster's discovery. It doesn't use the discovery client, which
// shows no headers, and reads all groups of the cluster at once.
type asker struct {
	client *http.Client
	base   *url.URL
}

func newAsker(config *rest.Config) (*asker, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client for discovery: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address for discovery: %w", err)
	}
	return &asker{client: client, base: base}, nil
}

// versions returns the names of the versions of a group, the preferred one first.
func (a *asker) versions(ctx context.Context, group string) ([]string, error) {
	var answer metav1.APIGroup
	if _, err := a.get(ctx, groupPath(group), &answer); err != nil {
		return nil, err
	}
	var names []string
	for _, version := range answer.Versions {
		names = append(names, version.Version)
	}
	return names, nil
}

// resources returns the names of the resources of a group version, and whether this
// software serves them.
func (a *asker) resources(ctx context.Context, version schema.GroupVersion) (names sets.Set[string], ours bool, err error) {
	var answer metav1.APIResourceList
	header, err := a.get(ctx, versionPath(version), &answer)
	if err != nil {
		return nil, false, err
	}
	names = sets.New[string]()
	for i := range answer.APIResources {
		names.Insert(answer.APIResources[i].Name)
	}
	return names, header.Get(markHeader) == markValue, nil
}

// get reads an answer as JSON into one of the types of discovery.
func (a *asker) get(ctx context.Context, path string, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	// JSON without parameters is the form of one group and of one version.
	request.Header.Set("Accept", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("GET %s: %w", path, err)
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", path, errAbsent)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET %s: %s", path, response.Status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("GET %s: the answer is not discovery in JSON: %w", path, err)
	}
	return response.Header, nil
}
