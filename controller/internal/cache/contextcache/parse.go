// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// reader reads fields of an object and keeps what is wrong with them.
type reader struct{ errs []error }

func (r *reader) wrong(field, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", field, fmt.Errorf(format, args...)))
}

// member returns a member of an object; the zero value if it is missing or not what it has to be.
func member[T any](r *reader, of map[string]any, path, name, wrong string) (value T) {
	found := of[name]
	if found == nil {
		return value
	}
	value, ok := found.(T)
	if !ok {
		r.wrong(path+"."+name, "%s", wrong)
	}
	return value
}

func (r *reader) object(of map[string]any, path, name string) map[string]any {
	return member[map[string]any](r, of, path, name, "is not an object")
}

func (r *reader) text(of map[string]any, path, name string) string {
	return member[string](r, of, path, name, "is not a string: put it in quotes")
}

// list calls each with the members of a list that are objects, and their paths.
func (r *reader) list(of map[string]any, path, name string, each func(path string, item map[string]any)) {
	for i, member := range member[[]any](r, of, path, name, "is not a list") {
		at := fmt.Sprintf("%s.%s[%d]", path, name, i)
		item, ok := member.(map[string]any)
		if !ok {
			r.wrong(at, "is not an object")
			continue
		}
		each(at, item)
	}
}

// checker says what is wrong with expressions, as [table.Engine] does.
type checker interface {
	Check(expression string) error
	CheckKeys(expression string) error
	CheckFilter(expression string) error
}

// define returns the definition in a CachedContextEntry or GlobalContextEntry.
func define(o *unstructured.Unstructured, check checker) *definition {
	d := &definition{id: policy.Entry{Kind: o.GetKind(), Name: o.GetName()}}
	r := &reader{}
	spec := r.object(o.Object, "", "spec")
	if d.id.Kind == policy.GlobalContextEntry {
		r.global(d, spec, check)
		d.open = o.GetAnnotations()[policy.AllowNamespacedPolicies] == "true"
	} else {
		r.cached(d, spec, check)
	}
	d.err = errors.Join(r.errs...)
	return d
}

// cached reads the spec of a CachedContextEntry.
func (r *reader) cached(d *definition, spec map[string]any, check checker) {
	d.open = member[bool](r, spec, "spec", "allowNamespacedPolicies", "is neither true nor false")
	d.projections = r.expressions(spec, "projections", check.Check)
	d.indexes = r.expressions(spec, "indexes", check.CheckKeys)
	for name := range d.indexes {
		if _, taken := d.projections[name]; taken {
			r.wrong("spec.indexes", "%q is the name of a projection, too: choose another one", name)
		}
	}
	resource, apiCall := r.object(spec, "spec", "resource"), r.object(spec, "spec", "apiCall")
	switch {
	case (resource == nil) == (apiCall == nil):
		r.wrong("spec", "needs either resource or apiCall")
	case resource != nil:
		const path = "spec.resource"
		d.resource = r.resource(path, policy.EntryResource{
			Group: r.text(resource, path, "group"), Version: r.text(resource, path, "version"),
			Kind: r.text(resource, path, "kind"), Namespace: r.text(resource, path, "namespace"),
			LabelSelector: r.text(resource, path, "labelSelector"), FieldSelector: r.text(resource, path, "fieldSelector"),
			Filter: r.text(resource, path, "filter"),
		}, check)
	default:
		if len(d.indexes) > 0 {
			r.wrong("spec.indexes", "are for spec.resource: the answer of a call has no objects; have the service answer with an object, whose members are looked up as quickly, or use spec.projections")
		}
		const path = "spec.apiCall"
		d.interval = r.seconds(apiCall, path, "refreshIntervalSeconds")
		d.call = r.call(apiCall, path, apiCall, path)
	}
}

// global reads the spec of a GlobalContextEntry.
func (r *reader) global(d *definition, spec map[string]any, check checker) {
	resource, apiCall := r.object(spec, "spec", "kubernetesResource"), r.object(spec, "spec", "apiCall")
	d.projections = r.expressions(spec, "projections", check.Check)
	switch {
	case (resource == nil) == (apiCall == nil):
		r.wrong("spec", "needs either kubernetesResource or apiCall")
	case resource != nil:
		const path = "spec.kubernetesResource"
		named := policy.EntryResource{
			Group:   cmp.Or(r.text(resource, path, "group"), coreGroup), // Here, an empty group is not any group.
			Version: r.text(resource, path, "version"), Kind: r.text(resource, path, "resource"), Namespace: r.text(resource, path, "namespace"),
		}
		switch {
		case named.Kind == "":
			r.wrong(path+".resource", "is required: the plural name, such as deployments")
		case named.Version == "":
			r.wrong(path+".version", "is required")
		default:
			d.resource = r.resource(path, named, check)
		}
	default:
		const path = "spec.apiCall"
		d.interval = r.duration(apiCall, path, "refreshInterval")
		d.call = r.call(apiCall, path, r.object(apiCall, path, "service"), path+".service")
	}
}

// expressions reads a list of named JMESPath expressions.
func (r *reader) expressions(spec map[string]any, list string, check func(expression string) error) map[string]string {
	named := map[string]string{}
	r.list(spec, "spec", list, func(path string, item map[string]any) {
		name, expression := r.text(item, path, "name"), r.text(item, path, "jmesPath")
		switch {
		case name == "":
			r.wrong(path+".name", "is required")
		case named[name] != "":
			r.wrong(path+".name", "%q is there twice", name)
		case expression == "":
			r.wrong(path+".jmesPath", "is required")
		default:
			if err := check(expression); err != nil {
				r.wrong(path+".jmesPath", "%w", err)
			}
			named[name] = expression
		}
	})
	return named
}

// call reads a call, whose service is in a field of its own, or beside the others.
func (r *reader) call(apiCall map[string]any, path string, service map[string]any, servicePath string) *call.Request {
	request := &call.Request{
		Path: r.text(apiCall, path, "urlPath"), Method: r.text(apiCall, path, "method"),
		URL: r.text(service, servicePath, "url"), CABundle: r.text(service, servicePath, "caBundle"),
	}
	r.list(apiCall, path, "data", func(path string, item map[string]any) {
		key := r.text(item, path, "key")
		if key == "" {
			r.wrong(path+".key", "is required")
			return
		}
		request.Data = append(request.Data, call.Datum{Key: key, Value: item["value"]})
	})
	r.list(service, servicePath, "headers", func(path string, item map[string]any) {
		request.Headers = append(request.Headers, call.Header{Key: r.text(item, path, "key"), Value: r.text(item, path, "value")})
	})
	var field *call.FieldError
	if err := request.Check(); errors.As(err, &field) {
		switch field.Field {
		case call.FieldURL, call.FieldHeaders, call.FieldCABundle:
			path = servicePath
		}
		r.wrong(path+"."+field.Field, "%w", err)
	}
	return request
}

// seconds reads a refresh interval in seconds.
func (r *reader) seconds(of map[string]any, path, name string) time.Duration {
	switch number := of[name].(type) {
	case nil:
	case int64:
		return r.interval(time.Duration(min(float64(number), maxSeconds))*time.Second, path+"."+name)
	case float64:
		return r.interval(time.Duration(min(number, maxSeconds)*float64(time.Second)), path+"."+name)
	default:
		r.wrong(path+"."+name, "is not a number of seconds")
	}
	return defaultInterval
}

// duration reads a refresh interval such as 1h30m.
func (r *reader) duration(of map[string]any, path, name string) time.Duration {
	text := r.text(of, path, name)
	if text == "" {
		return defaultInterval
	}
	interval, err := time.ParseDuration(text)
	if err != nil {
		r.wrong(path+"."+name, "%q is not a duration such as 1h30m", text)
		return defaultInterval
	}
	return r.interval(interval, path+"."+name)
}

func (r *reader) interval(interval time.Duration, field string) time.Duration {
	if interval < minInterval {
		r.wrong(field, "%s is too short: at least 1 s, or leave it out for 10 minutes", interval)
	}
	return interval
}

// coreGroup is a name for the group that has none.
const coreGroup = "core"

func (r *reader) resource(path string, named policy.EntryResource, check checker) *objects.Named {
	result, err := parseResource(path, named, check)
	r.errs = append(r.errs, err)
	return result
}

// parseResource reads a resource as users name it. path names the field in errors.
func parseResource(path string, named policy.EntryResource, check checker) (*objects.Named, error) {
	fail := func(field, format string, args ...any) (*objects.Named, error) {
		return nil, fmt.Errorf("%s.%s: %w", path, field, fmt.Errorf(format, args...))
	}
	if named.Kind == "" {
		return fail("kind", "is required: a kind such as Ingress, or its plural")
	}
	if strings.ContainsAny(named.Kind, "./ ") {
		return fail("kind", "%q is not a kind such as Ingress, or its plural; put its group into group", named.Kind)
	}
	if named.Namespace != "" {
		if problems := validation.IsDNS1123Label(named.Namespace); len(problems) > 0 {
			return fail("namespace", "%q is not the name of one namespace; leave it out for all", named.Namespace)
		}
	}
	if field, err := checkSelected(named, check); err != nil {
		return fail(field, "%w", err)
	}
	result := &objects.Named{EntryResource: named}
	group, version := splitGroup(named.Group)
	if version != "" {
		if named.Version != "" && named.Version != version {
			return fail("group", "%q has another version than %q in version: leave one of them out", named.Group, named.Version)
		}
		result.Version = version
	}
	result.Group, result.Exact = group, group != ""
	if group == coreGroup {
		result.Group = ""
	} else if problems := validation.IsDNS1123Subdomain(group); result.Exact && len(problems) > 0 {
		return fail("group", "%q is not an API group such as apps or networking.k8s.io", named.Group)
	}
	return result, nil
}

// checkSelected returns the field that is wrong with what is selected.
func checkSelected(named policy.EntryResource, check checker) (string, error) {
	if _, err := labels.Parse(named.LabelSelector); err != nil {
		return "labelSelector", fmt.Errorf("%q can't be read: write it as for kubectl -l, such as app=web,tier!=test: %w", named.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(named.FieldSelector); err != nil {
		return "fieldSelector", fmt.Errorf("%q can't be read: write it as for kubectl --field-selector, such as status.phase=Running: %w", named.FieldSelector, err)
	}
	if named.Filter == "" {
		return "", nil
	}
	return "filter", check.CheckFilter(named.Filter)
}

// splitGroup returns the group in what users write for it: with or without /apis/ and a version.
// The core group, which has no name, is api, core, or v1.
func splitGroup(text string) (group, version string) {
	text = strings.Trim(text, "/")
	switch first, rest, _ := strings.Cut(text, "/"); first {
	case "api":
		return coreGroup, rest
	case "apis":
		text = rest
	}
	if text == "v1" {
		return coreGroup, text
	}
	group, version, _ = strings.Cut(text, "/")
	return group, version
}
