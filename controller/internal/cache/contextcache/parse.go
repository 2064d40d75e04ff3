// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// entrySpec is the spec of a CachedContextEntry or a GlobalContextEntry. Each kind leaves out fields of the other.
type entrySpec struct {
	AllowNamespacedPolicies bool              `json:"allowNamespacedPolicies"`
	Projections             []namedExpression `json:"projections"`
	Indexes                 []namedExpression `json:"indexes"`
	// Resource has the fields of [policy.EntryResource].
	Resource *struct {
		Group         string `json:"group"`
		Version       string `json:"version"`
		Kind          string `json:"kind"`
		Namespace     string `json:"namespace"`
		LabelSelector string `json:"labelSelector"`
		FieldSelector string `json:"fieldSelector"`
		Filter        string `json:"filter"`
	} `json:"resource"`
	KubernetesResource *struct {
		Group     string `json:"group"`
		Version   string `json:"version"`
		Resource  string `json:"resource"`
		Namespace string `json:"namespace"`
	} `json:"kubernetesResource"`
	APICall *callSpec `json:"apiCall"`
}

type namedExpression struct {
	Name     string `json:"name"`
	JMESPath string `json:"jmesPath"`
}

// callSpec has the service of a CachedContextEntry beside its other fields, that of a GlobalContextEntry in a field.
type callSpec struct {
	URLPath string `json:"urlPath"`
	Method  string `json:"method"`
	Data    []struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	} `json:"data"`
	serviceSpec

	Service                serviceSpec `json:"service"`
	RefreshIntervalSeconds *float64    `json:"refreshIntervalSeconds"`
	RefreshInterval        string      `json:"refreshInterval"`
}

type serviceSpec struct {
	URL      string `json:"url"`
	CABundle string `json:"caBundle"`
	Headers  []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"headers"`
}

// readSpec reads what it can. The error names a field of the wrong type and the type that it needs.
func readSpec(o *unstructured.Unstructured) (spec entrySpec, err error) {
	text, err := json.Marshal(map[string]any{"spec": o.Object["spec"]})
	if err != nil {
		return spec, fmt.Errorf("spec: %w", err)
	}
	var read struct {
		Spec entrySpec `json:"spec"`
	}
	err = json.Unmarshal(text, &read)
	if mismatch := (*stdjson.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		err = fmt.Errorf("%s: %s", mismatch.Field, map[reflect.Kind]string{
			reflect.Struct: "is not an object", reflect.Slice: "is not a list", reflect.String: "is not a string: put it in quotes",
			reflect.Bool: "is neither true nor false", reflect.Float64: "is not a number of seconds",
		}[mismatch.Type.Kind()])
	}
	return read.Spec, err
}

// checker says what is wrong with expressions, as [table.Engine] does.
type checker interface {
	Check(expression string) error
	CheckKeys(expression string) error
	CheckFilter(expression string) error
}

// reader collects what is wrong with an entry.
type reader struct {
	checker
	errs []error
}

func (r *reader) wrong(field, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", field, fmt.Errorf(format, args...)))
}

// define returns the definition in a CachedContextEntry or GlobalContextEntry.
func define(o *unstructured.Unstructured, check checker) *definition {
	d := &definition{id: policy.Entry{Kind: o.GetKind(), Name: o.GetName()}}
	spec, err := readSpec(o)
	global := d.id.Kind == policy.GlobalContextEntry
	d.open = spec.AllowNamespacedPolicies
	if global {
		d.open = o.GetAnnotations()[policy.AllowNamespacedPolicies] == "true"
	}
	if err != nil {
		d.err = err
		return d
	}
	r := &reader{checker: check}
	d.projections = r.expressions("spec.projections", spec.Projections, check.Check)
	if global {
		r.global(d, &spec)
	} else {
		r.cached(d, &spec)
	}
	d.err = errors.Join(r.errs...)
	return d
}

// cached reads the spec of a CachedContextEntry.
func (r *reader) cached(d *definition, spec *entrySpec) {
	d.indexes = r.expressions("spec.indexes", spec.Indexes, r.CheckKeys)
	for name := range d.indexes {
		if _, taken := d.projections[name]; taken {
			r.wrong("spec.indexes", "%q is the name of a projection, too: choose another one", name)
		}
	}
	switch {
	case (spec.Resource == nil) == (spec.APICall == nil):
		r.wrong("spec", "needs either resource or apiCall")
	case spec.Resource != nil:
		d.resource = r.resource("spec.resource", policy.EntryResource(*spec.Resource))
	default:
		if len(d.indexes) > 0 {
			r.wrong("spec.indexes", "are for spec.resource: the answer of a call has no objects; have the service answer with an object, whose members are looked up as quickly, or use spec.projections")
		}
		const path = "spec.apiCall"
		d.call = r.request(path, spec.APICall, path, &spec.APICall.serviceSpec)
		d.interval = defaultInterval
		if seconds := spec.APICall.RefreshIntervalSeconds; seconds != nil {
			d.interval = r.interval(time.Duration(min(*seconds, maxSeconds)*float64(time.Second)), path+".refreshIntervalSeconds")
		}
	}
}

// global reads the spec of a GlobalContextEntry.
func (r *reader) global(d *definition, spec *entrySpec) {
	resource := spec.KubernetesResource
	switch {
	case (resource == nil) == (spec.APICall == nil):
		r.wrong("spec", "needs either kubernetesResource or apiCall")
	case resource == nil:
		const path = "spec.apiCall"
		d.call = r.request(path, spec.APICall, path+".service", &spec.APICall.Service)
		d.interval = r.duration(path+".refreshInterval", spec.APICall.RefreshInterval)
	case resource.Resource == "":
		r.wrong("spec.kubernetesResource.resource", "is required: the plural name, such as deployments")
	case resource.Version == "":
		r.wrong("spec.kubernetesResource.version", "is required")
	default:
		d.resource = r.resource("spec.kubernetesResource", policy.EntryResource{
			Group: resource.Group, Version: resource.Version, Kind: resource.Resource, Namespace: resource.Namespace,
		})
		if d.resource != nil {
			d.resource.exact = true // No group is the core group here.
		}
	}
}

func (r *reader) resource(path string, named policy.EntryResource) *wanted {
	result, err := parseResource(path, named, r)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return result
}

// expressions returns JMESPath expressions by name.
func (r *reader) expressions(field string, list []namedExpression, check func(expression string) error) map[string]string {
	named := map[string]string{}
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case item.Name == "":
			r.wrong(path+".name", "is required")
		case named[item.Name] != "":
			r.wrong(path+".name", "%q is there twice", item.Name)
		case item.JMESPath == "":
			r.wrong(path+".jmesPath", "is required")
		default:
			if err := check(item.JMESPath); err != nil {
				r.wrong(path+".jmesPath", "%w", err)
			}
			named[item.Name] = item.JMESPath
		}
	}
	return named
}

// request returns the request of a call after a check. path names the call in errors, servicePath its service.
func (r *reader) request(path string, spec *callSpec, servicePath string, service *serviceSpec) *call.Request {
	request := &call.Request{Path: spec.URLPath, Method: spec.Method, URL: service.URL, CABundle: service.CABundle}
	for i, datum := range spec.Data {
		if datum.Key == "" {
			r.wrong(fmt.Sprintf("%s.data[%d].key", path, i), "is required")
			continue
		}
		request.Data = append(request.Data, call.Datum(datum))
	}
	for _, header := range service.Headers {
		request.Headers = append(request.Headers, call.Header(header))
	}
	var field *call.FieldError
	if err := request.Check(); errors.As(err, &field) {
		switch field.Field {
		case call.FieldURL, call.FieldHeaders, call.FieldCABundle:
			path = servicePath
		}
		r.wrong(path+"."+fieldNames[field.Field], "%w", err)
	}
	return request
}

// fieldNames are the names of the fields of a request in entries.
var fieldNames = map[string]string{
	call.FieldURL: "url", call.FieldPath: "urlPath", call.FieldMethod: "method",
	call.FieldHeaders: "headers", call.FieldData: "data", call.FieldCABundle: "caBundle",
}

// duration reads a refresh interval such as 1h30m.
func (r *reader) duration(field, text string) time.Duration {
	if text == "" {
		return defaultInterval
	}
	interval, err := time.ParseDuration(text)
	if err != nil {
		r.wrong(field, "%q is not a duration such as 1h30m", text)
		return defaultInterval
	}
	return r.interval(interval, field)
}

func (r *reader) interval(interval time.Duration, field string) time.Duration {
	if interval < minInterval {
		r.wrong(field, "%s is too short: at least 1 s, or leave it out for 10 minutes", interval)
	}
	return interval
}

// parseResource reads a resource as users name it. path names the field in errors.
func parseResource(path string, named policy.EntryResource, check checker) (*wanted, error) {
	result := &wanted{
		version: named.Version, kind: named.Kind, namespace: named.Namespace,
		labels: named.LabelSelector, fields: named.FieldSelector, filter: named.Filter,
	}
	fail := func(field, format string, args ...any) (*wanted, error) {
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
	group, version := splitGroup(named.Group)
	if version != "" {
		if result.version != "" && result.version != version {
			return fail("group", "%q has another version than %q in version: leave one of them out", named.Group, named.Version)
		}
		result.version = version
	}
	switch group {
	case "": // Any.
	case "core":
		result.exact = true
	default:
		if problems := validation.IsDNS1123Subdomain(group); len(problems) > 0 {
			return fail("group", "%q is not an API group such as apps or networking.k8s.io", named.Group)
		}
		result.group, result.exact = group, true
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
		return "core", rest
	case "apis":
		text = rest
	}
	if text == "v1" {
		return "core", text
	}
	group, version, _ = strings.Cut(text, "/")
	return group, version
}
