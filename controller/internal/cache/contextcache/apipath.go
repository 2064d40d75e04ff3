// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

// apiPath is a path of the cluster's API. Whether it can be watched depends on what it names.
type apiPath struct {
	// text is the path as it was declared.
	text string
	// watchable reports whether the other fields describe the path completely: it names a list, or one of its objects.
	watchable       bool
	resource        schema.GroupVersionResource
	namespace, name string
	// labels and fields are the selectors of a list.
	labels, fields string
}

// parsePath reads a path such as /apis/apps/v1/namespaces/shop/deployments?labelSelector=app=x.
func parsePath(text string) (*apiPath, error) {
	request := call.Request{Path: text}
	if err := request.Check(); err != nil {
		return nil, fmt.Errorf("apiCall.urlPath: %w", err)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("apiCall.urlPath: %w", err)
	}
	p := &apiPath{text: text}
	parts := strings.Split(strings.Trim(parsed.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		p.resource.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		p.resource.Group, p.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return p, nil // Such as /version.
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.resource.Resource = parts[0]
	if len(parts) == 2 {
		p.name = parts[1]
	}
	selected, err := p.selectors(parsed)
	if err != nil {
		return nil, err
	}
	p.watchable = len(parts) <= 2 && selected
	return p, nil
}

// selectors returns false if the query has more than selectors.
func (p *apiPath) selectors(parsed *url.URL) (bool, error) {
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return false, fmt.Errorf("apiCall.urlPath: the query of %q can't be read: %w", p.text, err)
	}
	plain := p.name == "" || len(query) == 0
	for name, values := range query {
		switch name {
		case "labelSelector":
			p.labels = values[0]
		case "fieldSelector":
			p.fields = values[0]
		default:
			plain = false
		}
	}
	if _, err := labels.Parse(p.labels); err != nil {
		return false, fmt.Errorf("apiCall.urlPath: labelSelector %q can't be read: %w", p.labels, err)
	}
	if _, err := fields.ParseSelector(p.fields); err != nil {
		return false, fmt.Errorf("apiCall.urlPath: fieldSelector %q can't be read: %w", p.fields, err)
	}
	return plain, nil
}

// request returns the request that polls the path.
func (p *apiPath) request() call.Request { return call.Request{Path: p.text} }
