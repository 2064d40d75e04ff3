// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	gojmespath "github.com/kyverno/go-jmespath"
	"github.com/kyverno/kyverno/pkg/engine/variables/regex"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// sources are the fields of which a context entry has one.
var sources = []string{
	cachedEntrySource, resourceCacheSource, apiCallSource, globalSource, "configMap", "imageRegistry", "variable",
}

// translate replaces what Kyverno's types don't know, in the rules that are evaluated, by what they
// know ([cacheMethod]). It changes the object. The error names the fields of the user.
func translate(object *unstructured.Unstructured) error {
	t := &translator{}
	if object.GetKind() == policy.NamespacedPolicy {
		t.namespace = object.GetNamespace()
	}
	spec, _ := object.Object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	for i, item := range rules {
		rule, _ := item.(map[string]any)
		validation, ok := rule["validate"].(map[string]any)
		if !ok {
			continue
		}
		path := fmt.Sprintf("spec.rules[%d]", i)
		t.entries(path, rule, false)
		t.loops(path+".validate", validation)
	}
	return errors.Join(t.problems...)
}

type translator struct {
	// namespace is empty for cluster policies.
	namespace string
	problems  []error
}

func (t *translator) problem(path, format string, arguments ...any) {
	t.problems = append(t.problems, fmt.Errorf("%s %w", path, fmt.Errorf(format, arguments...)))
}

func (t *translator) loops(path string, parent map[string]any) {
	loops, _ := parent["foreach"].([]any)
	for i, item := range loops {
		if loop, ok := item.(map[string]any); ok {
			below := fmt.Sprintf("%s.foreach[%d]", path, i)
			t.entries(below, loop, true)
			t.loops(below, loop)
		}
	}
}

func (t *translator) entries(path string, parent map[string]any, loop bool) {
	entries, _ := parent["context"].([]any)
	for i, item := range entries {
		if entry, ok := item.(map[string]any); ok {
			t.entry(fmt.Sprintf("%s.context[%d]", path, i), entry, loop)
		}
	}
}

// entry leaves alone what has nothing to do with the context cache: Kyverno judges it.
func (t *translator) entry(path string, entry map[string]any, loop bool) {
	var found []string
	for _, source := range sources {
		if entry[source] != nil {
			found = append(found, source)
		}
	}
	if len(found) == 0 {
		t.problem(path, "reads nothing that is known: give it one of %s", strings.Join(sources, ", "))
		return
	}
	call, _ := entry[apiCallSource].(map[string]any)
	if call["method"] == cacheMethod {
		t.problem(path, "apiCall.method %q: write GET or POST", cacheMethod)
		return
	}
	cached := slices.ContainsFunc(found, func(source string) bool {
		return source == cachedEntrySource || source == resourceCacheSource || source == globalSource || source == apiCallSource && call["cache"] != nil
	})
	if !cached {
		return
	}
	if len(found) > 1 {
		t.problem(path, "has several sources (%s): keep one of them", strings.Join(found, ", "))
		return
	}
	before := len(t.problems)
	t.name(path, entry)
	source := found[0]
	fields, ok := entry[source].(map[string]any)
	if !ok {
		t.problem(path, "%s is not an object", source)
		return
	}
	if source == apiCallSource && !t.wantsCache(path, fields) {
		return
	}
	r := reader{translator: t, path: path + "." + source, fields: fields, loop: loop}
	declared := r.declaration(source)
	if len(t.problems) > before {
		return
	}
	carrier := declared.carrier()
	if fallback, ok := fields["default"]; ok {
		carrier["default"] = fallback
	}
	delete(entry, source)
	entry[apiCallSource] = carrier
}

// reserved are the variables that each rule has.
var reserved = regexp.MustCompile(`^(images?|request|serviceAccountName|serviceAccountNamespace|target|element\d*|elementIndex\d*)(\.|$)`)

func (t *translator) name(path string, entry map[string]any) {
	switch name, _ := entry["name"].(string); {
	case name == "":
		t.problem(path+".name", "is missing: name the variable")
	case reserved.MatchString(name):
		t.problem(path+".name", "%q is a variable that each rule has: choose another name", name)
	}
}

func (t *translator) wantsCache(path string, call map[string]any) bool {
	wanted, ok := call["cache"].(bool)
	if !ok {
		t.problem(path+".apiCall.cache", "is neither true nor false")
	}
	return wanted
}

// reader reads the fields of one source.
type reader struct {
	*translator
	path   string
	fields map[string]any
	// loop reports whether there are elements.
	loop bool
}

func (r *reader) declaration(source string) declaration {
	out := declaration{source: source, expression: r.expression()}
	known := []string{"jmesPath", "jmespath"}
	switch source {
	case cachedEntrySource, globalSource:
		known = append(known, "name")
		out.name = r.text("name", true)
		if source == globalSource && strings.HasPrefix(out.name, ".") {
			r.problem(r.path+".name", "%q has no name before the dot: write name or name.projection", out.name)
		}
	case resourceCacheSource:
		known = append(known, "group", "version", "kind", "namespace", "labelSelector", "fieldSelector", "filter")
		out.resource.Group, out.resource.Version = r.text("group", false), r.text("version", false)
		out.resource.Kind, out.resource.Namespace = r.text("kind", true), r.text("namespace", false)
		out.resource.LabelSelector, out.resource.FieldSelector = r.constant("labelSelector"), r.constant("fieldSelector")
		if out.resource.Filter = r.constant("filter"); out.resource.Filter != "" {
			r.parse("filter", out.resource.Filter)
		}
	default:
		known = append(known, "cache", "default", "urlPath", "method", "service", "data")
		if r.fields["service"] != nil {
			out.service = r.service()
		} else {
			out.path = r.call()
		}
	}
	r.known(known...)
	if _, static := out.entry(); static {
		if err := out.check(r.namespace); err != nil {
			r.problems = append(r.problems, fmt.Errorf("%s%w", strings.TrimSuffix(r.path, source), err))
		}
	}
	return out
}

// call returns the path of an API call whose answer can be kept.
func (r *reader) call() string {
	if method := r.fields["method"]; method != nil && method != "GET" {
		r.problem(r.path+".method", "%v can't be cached: only GET can", method)
	}
	if r.fields["data"] != nil {
		r.problem(r.path+".data", "can't be sent with GET: remove it")
	}
	path := r.text("urlPath", true)
	if path != "" && !strings.HasPrefix(path, "/") && !hasVariable(path) {
		r.problem(r.path+".urlPath", "%q does not begin with /", path)
	}
	return path
}

// service returns the JSON of a call of a service whose answer can be kept: that of a [policy.EntryService].
func (r *reader) service() string {
	before := len(r.problems)
	service := reader{translator: r.translator, path: r.path + ".service", loop: r.loop}
	var ok bool
	if service.fields, ok = r.fields["service"].(map[string]any); !ok {
		r.problem(service.path, "is not an object")
		return ""
	}
	if r.fields["urlPath"] != nil {
		r.problem(r.path+".urlPath", "is given beside service: keep one of them")
	}
	service.known("url", "headers", "caBundle")
	request := call.Request{URL: service.text("url", true), Method: r.text("method", false), CABundle: service.text("caBundle", false)}
	headers, data := map[string]string{}, map[string]any{}
	service.pairs("headers", func(path, key string, value any) {
		text, ok := value.(string)
		if !ok {
			r.problem(path+".value", "is not a text: quote it")
		}
		headers[key] = text
		request.Headers = append(request.Headers, call.Header{Key: key, Value: text})
	})
	r.pairs("data", func(_, key string, value any) {
		data[key] = value
		request.Data = append(request.Data, call.Datum{Key: key, Value: value})
	})
	r.noVariables("method", request.Method)
	r.noVariables("service", service.fields)
	r.noVariables("data", r.fields["data"])
	if len(r.problems) > before {
		return ""
	}
	var wrong *call.FieldError
	if err := request.Check(); errors.As(err, &wrong) {
		path := map[string]string{
			call.FieldURL: ".service.url", call.FieldHeaders: ".service.headers", call.FieldCABundle: ".service.caBundle",
			call.FieldMethod: ".method", call.FieldData: ".data",
		}[wrong.Field]
		r.problem(r.path+path, "%w", err)
		return ""
	}
	entry, err := policy.NewEntryService(request.URL, request.Method, headers, data, request.CABundle)
	if err != nil {
		r.problem(r.path+".service", "%w", err)
		return ""
	}
	text, err := json.Marshal(entry)
	if err != nil {
		r.problem(r.path+".service", "%w", err)
	}
	return string(text)
}

// noVariables refuses variables in a call that is kept, in any text of a value.
func (r *reader) noVariables(field string, value any) {
	text, err := json.Marshal(value)
	if err == nil && hasVariable(string(text)) {
		r.problem(r.path+"."+field, "has a variable, so that each value would be a call to repeat for itself: remove cache: true, or the variable")
	}
}

// pairs calls each for the members of a list of keys and values.
func (r *reader) pairs(field string, each func(path, key string, value any)) {
	list, ok := r.fields[field].([]any)
	if r.fields[field] != nil && !ok {
		r.problem(r.path+"."+field, "is not a list")
	}
	for i, item := range list {
		path := fmt.Sprintf("%s.%s[%d]", r.path, field, i)
		pair, _ := item.(map[string]any)
		key, _ := pair["key"].(string)
		if key == "" {
			r.problem(path+".key", "is missing")
			continue
		}
		each(path, key, pair["value"])
	}
}

// known finds fields that there are not.
func (r *reader) known(names ...string) {
	for _, field := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(names, field) {
			r.problem(r.path+"."+field, "is unknown: there are %s", strings.Join(names, ", "))
		}
	}
}

func (r *reader) text(field string, required bool) string {
	value, given := r.fields[field]
	text, ok := value.(string)
	switch {
	case given && value != nil && !ok:
		r.problem(r.path+"."+field, "is not a text: quote it")
	case required && text == "":
		r.problem(r.path+"."+field, "is missing")
	default:
		r.variables(field, text)
	}
	return text
}

// constant reads a field of what is cached: each value would be a list of its own.
func (r *reader) constant(field string) string {
	text := r.text(field, false)
	if hasVariable(text) {
		r.problem(r.path+"."+field, "has a variable, so that each value would be listed and watched for itself: compare in jmesPath instead, where equality is looked up in an index")
		return ""
	}
	return text
}

// expression reads both spellings.
func (r *reader) expression() string {
	field := "jmesPath"
	if r.fields["jmespath"] != nil {
		field = "jmespath"
		if r.fields["jmesPath"] != nil {
			r.problem(r.path+".jmespath", "is given as jmesPath, too: keep one of them")
			return ""
		}
	}
	text := r.text(field, false)
	if text != "" && !hasVariable(text) {
		r.parse(field, text)
	}
	return text
}

func (r *reader) parse(field, expression string) {
	if _, err := gojmespath.NewParser().Parse(expression); err != nil {
		r.problem(r.path+"."+field, "has the invalid JMESPath expression %q: %w", expression, err)
	}
}

// variables judges what Kyverno would judge, with the wrong field in its message. Of variables in
// variables it judges the inner ones.
func (r *reader) variables(field, text string) {
	for _, match := range regex.RegexVariables.FindAllStringSubmatch(text, -1) {
		expression := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(match[2], "{{"), "}}"), "-"))
		r.parse(field, expression)
		if !r.loop && strings.HasPrefix(expression, "element") {
			r.problem(r.path+"."+field, "has the variable %s, which is there in foreach only", expression)
		}
	}
}
