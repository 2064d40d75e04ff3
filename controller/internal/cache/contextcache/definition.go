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

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
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

// definition is what an entry asks for, in whichever of the four ways it was declared: an object of either kind, or a
// policy's resourceCache or apiCall. It never changes.
type definition struct {
	// id is how policies refer to it.
	id policy.Entry
	// err is why the definition can't work, whatever the cluster has. Without one, there is a resource or a call.
	err error

	resource *objects.Named
	call     *call.Request
	interval time.Duration
	// path is what the call gets, if that are objects that can be watched instead.
	path *objects.Selection
	// open reports whether policies in a namespace may read the entry.
	open bool
	// projections are expressions by name, indexes those for the keys of objects.
	projections, indexes map[string]string
}

// locate returns where the data of a valid definition come from: the one thing that all kinds of entries become. The
// warning says what may be wrong with that.
func (d *definition) locate(all *served.Catalog) (from origin, warning string, err error) {
	if d.resource != nil {
		from.selection, warning, err = objects.Find(all, *d.resource)
		return from, warning, err
	}
	if d.path != nil {
		if found, watchable := d.path.In(all); watchable {
			return origin{selection: found}, "", nil
		}
	}
	return origin{call: d.call, interval: d.interval}, "", nil
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
		return text + objects.Selectors{Labels: r.LabelSelector, Fields: r.FieldSelector, Filter: r.Filter}.String()
	}
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
	d := &definition{id: id, interval: defaultInterval}
	switch {
	case id.Path != "":
		d.call, d.interval = &call.Request{Path: id.Path}, pathInterval
		d.path, d.err = parsePath(id.Path)
	case id.Service != (policy.EntryService{}):
		d.call, d.err = serviceRequest(id.Service)
	default:
		d.resource, d.err = parseResource("resourceCache", id.Resource, check)
	}
	return d
}

// parsePath is [objects.ParsePath] for a field of a policy or an entry.
func parsePath(path string) (named *objects.Selection, err error) {
	if err = (&call.Request{Path: path}).Check(); err == nil {
		named, err = objects.ParsePath(path)
	}
	if err != nil {
		return nil, fmt.Errorf("apiCall.urlPath: %w", err)
	}
	return named, nil
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
