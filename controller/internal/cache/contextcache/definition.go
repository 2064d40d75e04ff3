// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

const (
	// defaultInterval is how often a call is repeated if its entry does not say.
	defaultInterval = 10 * time.Minute
	// pathInterval is how often a path of a policy is requested if it can't be watched.
	pathInterval = time.Minute
	// minInterval keeps an entry from being a load test.
	minInterval = time.Second
	// maxSeconds keeps an interval within a time.Duration.
	maxSeconds = 366 * 24 * 3600
)

// definition is what an entry asks for. It never changes. One of resource, call, and path is set
// unless err says what is wrong with it.
type definition struct {
	// id is how policies refer to it.
	id policy.Entry
	// err is why the definition can't work, whatever the cluster has.
	err error

	resource *wanted
	call     *call.Request
	interval time.Duration
	path     *apiPath
	// open reports whether policies in a namespace may read the entry.
	open bool
	// projections are expressions by name, indexes those for the keys of objects.
	projections, indexes map[string]string
}

// wanted is a resource as users name it, in a form to look up.
type wanted struct {
	// group is the API group if exact; otherwise any group will do.
	group string
	exact bool
	// version is empty for the preferred one.
	version string
	// kind is a kind, a plural, a singular or a short name.
	kind      string
	namespace string
	// labels and fields are selectors, filter is an expression; empty for all.
	labels, fields, filter string
}

// names says which projections and indexes there are.
func (d *definition) names() string {
	names := slices.Sorted(maps.Keys(d.projections))
	names = append(names, slices.Sorted(maps.Keys(d.indexes))...)
	if len(names) == 0 {
		return ""
	}
	return " (there are " + strings.Join(names, ", ") + ")"
}

// title is how errors call an entry.
func title(id policy.Entry) string {
	switch {
	case id.Kind != "":
		return id.Kind + " " + id.Name
	case id.Path != "":
		return "apiCall " + id.Path
	case id.Service != (policy.EntryService{}):
		return "apiCall " + id.Service.String()
	default:
		r := id.Resource
		text := "resourceCache " + r.Kind
		if r.Group != "" {
			text += " of group " + r.Group
		}
		if r.Namespace != "" {
			text += " in namespace " + r.Namespace
		}
		return text + selected(r.LabelSelector, r.FieldSelector, r.Filter)
	}
}

// selected names selectors in errors.
func selected(labels, fields, filter string) string {
	var parts []string
	for _, part := range [][2]string{{"labels", labels}, {"fields", fields}, {"filter", filter}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// permit says why a query may not be answered. The author of an entry's object decides whether
// policies in namespaces see it; an entry that a policy declares itself is limited to its own namespace.
func (d *definition) permit(query policy.Query) error {
	scope := reach.Scope{Namespace: query.Namespace}
	switch {
	case query.Namespace == "" || d.open:
		return nil
	case d.id.Kind == policy.GlobalContextEntry:
		return fmt.Errorf("is not open to policies in a namespace: whoever rules the cluster can annotate it with %s=true", policy.AllowNamespacedPolicies)
	case d.id.Kind != "":
		return errors.New("is not open to policies in a namespace: whoever rules the cluster can set its spec.allowNamespacedPolicies to true")
	case d.id.Path != "":
		return scope.Check(http.MethodGet, d.id.Path)
	case d.id.Service != (policy.EntryService{}):
		return scope.CheckServices()
	default:
		return scope.CheckNamespace(d.id.Resource.Namespace)
	}
}

// defineInline returns the definition of an entry that a policy declares.
func defineInline(id policy.Entry, check checker) *definition {
	d := &definition{id: id}
	if id.Path != "" {
		d.path, d.err = parsePath(id.Path)
		d.interval = pathInterval
		return d
	}
	if id.Service != (policy.EntryService{}) {
		d.call, d.err = serviceRequest(id.Service)
		d.interval = defaultInterval
		return d
	}
	d.resource, d.err = parseResource("resourceCache", id.Resource, check)
	return d
}

// serviceRequest is the call that a policy declares.
func serviceRequest(s policy.EntryService) (*call.Request, error) {
	request := &call.Request{URL: s.URL, Method: s.Method, CABundle: s.CABundle}
	if s.Body != "" {
		request.Body = []byte(s.Body)
	}
	var headers map[string]string
	if s.Headers != "" {
		if err := json.Unmarshal([]byte(s.Headers), &headers); err != nil {
			return nil, errors.New("service.headers: are not an object of texts")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		request.Headers = append(request.Headers, call.Header{Key: name, Value: headers[name]})
	}
	return request, request.Check()
}
