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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints"
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
	kind, parameters, err := mime.ParseMediaType(answer.contentType)
	if err != nil || kind != acceptJSON {
		return nil, "", fmt.Errorf("/apis answers with content of type %q, not JSON: is this the address of a cluster?", answer.contentType)
	}
	if parameters["as"] != "APIGroupDiscoveryList" {
		groups, err := f.discoverLegacy(ctx, answer.body)
		return groups, "", err
	}
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return nil, "", fmt.Errorf("/apis: %w", err)
	}
	return list.Items, answer.etag, nil
}

// discoverLegacy asks for each group version: clusters before Kubernetes 1.26 have no
// document of all.
func (f *fetcher) discoverLegacy(ctx context.Context, root []byte) ([]apidiscovery.APIGroupDiscovery, error) {
	var list metav1.APIGroupList
	if err := json.Unmarshal(root, &list); err != nil {
		return nil, fmt.Errorf("/apis: %w", err)
	}
	groups := make([]apidiscovery.APIGroupDiscovery, 0, len(list.Groups))
	for _, g := range list.Groups {
		group := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			version, err := f.discoverVersion(ctx, v)
			if err != nil {
				return nil, err
			}
			group.Versions = append(group.Versions, version)
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// discoverVersion returns a group version; without resources and stale, if its server
// does not answer: that of one extension server is no reason to lose the others.
func (f *fetcher) discoverVersion(ctx context.Context, v metav1.GroupVersionForDiscovery) (apidiscovery.APIVersionDiscovery, error) {
	version := apidiscovery.APIVersionDiscovery{Version: v.Version, Freshness: apidiscovery.DiscoveryFreshnessStale}
	answer, err := f.get(ctx, "/apis/"+v.GroupVersion, acceptJSON, "", maxUpstreamDiscovery)
	if err != nil {
		return version, err
	}
	if answer.status != http.StatusOK {
		return version, nil
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return version, fmt.Errorf("/apis/%s: %w", v.GroupVersion, err)
	}
	resources, err := endpoints.ConvertGroupVersionIntoToDiscovery(list.APIResources)
	if err != nil {
		return version, fmt.Errorf("/apis/%s: %w", v.GroupVersion, err)
	}
	version.Resources, version.Freshness = resources, apidiscovery.DiscoveryFreshnessCurrent
	return version, nil
}

// excerpt is the beginning of a body, for messages.
func excerpt(body []byte) string {
	const most = 300
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
