// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// The fields of a context entry that read the context cache. The API call does with cache: true.
const (
	cachedEntrySource   = "cachedContextEntry"
	resourceCacheSource = "resourceCache"
	globalSource        = "globalReference"
	apiCallSource       = "apiCall"
)

// cacheMethod is the method of the API calls that stand for what reads the context cache. Kyverno's
// types have no fields for that, and a globalReference is refused in namespaced policies; an API
// call can carry it through Kyverno's validation and its generation of rules, which rewrites the
// paths in all texts. No user can write it: see [translator.entry].
const cacheMethod = "CONTEXT-CACHE"

// declaration is how a rule reads the context cache. The texts may have variables.
type declaration struct {
	// source is the field that the user wrote.
	source string
	// name is the name of an object; for a globalReference, also of a projection.
	name string
	// resource is the content of a resourceCache.
	resource policy.EntryResource
	// path is the path of an API call, service the JSON of a call of a service.
	path, service string
	// expression is the JMESPath.
	expression string
	// fallback is what takes the place of an API call that fails.
	fallback *apiextensionsv1.JSON
}

// parts are the texts that travel as data of the API call, with the names that users see.
func (d *declaration) parts() []part {
	return []part{
		{"source", &d.source},
		{"name", &d.name},
		{"group", &d.resource.Group},
		{"version", &d.resource.Version},
		{"kind", &d.resource.Kind},
		{"namespace", &d.resource.Namespace},
		{"labelSelector", &d.resource.LabelSelector},
		{"fieldSelector", &d.resource.FieldSelector},
		{"filter", &d.resource.Filter},
		{"urlPath", &d.path},
		{"service", &d.service},
	}
}

type part struct {
	name string
	text *string
}

// carrier returns the API call that stands for the declaration.
func (d *declaration) carrier() map[string]any {
	var data []any
	for _, part := range d.parts() {
		if *part.text != "" {
			data = append(data, map[string]any{"key": part.name, "value": *part.text})
		}
	}
	out := map[string]any{"method": cacheMethod, "data": data}
	if d.expression != "" {
		out["jmesPath"] = d.expression
	}
	return out
}

// declaredBy reads what [declaration.carrier] has written, possibly in a generated rule. If all is frozen, reads of the
// API are declared as well.
func declaredBy(entry *kyvernov1.ContextEntry, frozen bool) (declaration, bool) {
	call := entry.APICall
	if call == nil || call.Method != cacheMethod && (!frozen || call.URLPath == "" || cmp.Or(call.Method, http.MethodGet) != http.MethodGet) {
		return declaration{}, false
	}
	out := declaration{expression: call.JMESPath, fallback: call.Default}
	if call.Method != cacheMethod {
		out.source, out.path = apiCallSource, call.URLPath
		return out, true
	}
	parts := out.parts()
	for _, item := range call.Data {
		i := slices.IndexFunc(parts, func(part part) bool { return part.name == item.Key })
		if i < 0 || item.Value == nil || json.Unmarshal(item.Value.Raw, parts[i].text) != nil {
			return declaration{}, false
		}
	}
	return out, true
}

// entry returns what the policy declares; false if only an evaluation knows.
func (d *declaration) entry() (policy.Entry, bool) {
	name := d.name
	if d.source == globalSource {
		name, _, _ = strings.Cut(name, ".")
	}
	if hasVariable(name) {
		name = policy.AnyName
	}
	switch d.source {
	case cachedEntrySource:
		return policy.Entry{Kind: policy.CachedContextEntry, Name: name}, true
	case globalSource:
		return policy.Entry{Kind: policy.GlobalContextEntry, Name: name}, true
	case resourceCacheSource:
		r := d.resource
		return policy.Entry{Resource: r}, !slices.ContainsFunc([]string{r.Group, r.Version, r.Kind, r.Namespace}, hasVariable)
	default:
		if d.service != "" {
			var service policy.EntryService
			err := json.Unmarshal([]byte(d.service), &service)
			return policy.Entry{Service: service}, err == nil
		}
		return policy.Entry{Path: d.path}, !hasVariable(d.path)
	}
}

// query returns what to ask for. There are no variables left. Only the sources of our own know the
// data by the name of the variable.
func (d *declaration) query(variable string) policy.Query {
	query := policy.Query{Expression: d.expression}
	query.Entry, _ = d.entry()
	switch d.source {
	case globalSource:
		// As Kyverno does, without a look at what follows a second dot.
		if parts := strings.Split(d.name, "."); len(parts) > 1 {
			query.Projection = parts[1]
		}
	case cachedEntrySource, resourceCacheSource:
		query.Alias = variable
	}
	return query
}

// check says what is wrong with a declaration without variables, in a policy of the namespace; it is empty for cluster
// policies. Objects are made by those who rule the cluster, and say themselves who may read them.
func (d *declaration) check(namespace string) error {
	switch {
	case d.source == resourceCacheSource && namespace != "" && d.resource.Namespace != namespace:
		return fmt.Errorf("resourceCache.namespace %q: a namespaced policy may only read its own namespace: write %s, or refer to a CachedContextEntry",
			d.resource.Namespace, namespace)
	case d.source == apiCallSource && d.service != "":
		if err := (reach.Scope{Namespace: namespace}).CheckServices(); err != nil {
			return fmt.Errorf("apiCall.service: %w", err)
		}
	case d.source == apiCallSource:
		scope := reach.Scope{Namespace: namespace}
		if err := scope.Check(http.MethodGet, d.path); err != nil {
			return fmt.Errorf("apiCall.urlPath %q: %w", d.path, err)
		}
	}
	return nil
}

func hasVariable(text string) bool { return strings.Contains(text, "{{") }

// entriesOf returns what the rules read from the context cache, each once.
func entriesOf(rules []kyvernov1.Rule) []policy.Entry {
	var out []policy.Entry
	add := func(entries []kyvernov1.ContextEntry) {
		for i := range entries {
			entry, ok := configMapEntry(&entries[i])
			if declared, cached := declaredBy(&entries[i], false); cached {
				entry, ok = declared.entry()
			}
			if ok && !slices.Contains(out, entry) {
				out = append(out, entry)
			}
		}
	}
	var loops func([]kyvernov1.ForEachValidation)
	loops = func(items []kyvernov1.ForEachValidation) {
		for i := range items {
			add(items[i].Context)
			loops(items[i].GetForEachValidation())
		}
	}
	for i := range rules {
		add(rules[i].Context)
		if rules[i].Validation != nil {
			loops(rules[i].Validation.ForEachValidation)
		}
	}
	return out
}
