// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
)

// context converts the entries of a context to what their names mean. They are put in where they are used.
func (c *converter) context(entries []kyvernov1.ContextEntry, s scope, field string) (map[string]term, error) {
	s = s.with(nil)
	for i, entry := range entries {
		t, err := c.entry(entry, s, fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return nil, err
		}
		s.names[entry.Name] = t
	}
	return s.names, nil
}

func (c *converter) entry(entry kyvernov1.ContextEntry, s scope, field string) (term, error) {
	switch {
	case entry.Variable != nil:
		return c.contextVariable(entry.Variable, s, field+".variable")
	case entry.ConfigMap != nil:
		return c.configMap(entry.ConfigMap, s, field+".configMap")
	case entry.APICall != nil:
		return c.apiCall(entry.APICall, s, field+".apiCall")
	case entry.GlobalReference != nil:
		data := at(method(ident("globalContext"), "Get", quote(entry.GlobalReference.Name), emptyText))
		return c.selected(data, entry.GlobalReference.JMESPath, s, field+".globalReference.jmesPath")
	default:
		return term{}, refuse(field, "use image.GetMetadata() of CEL by hand", "only variables, ConfigMaps, API calls and global references are converted")
	}
}

// selected converts a JMESPath over data.
func (c *converter) selected(data place, path string, s scope, field string) (term, error) {
	if path == "" || path == "@" {
		return placed(data), nil
	}
	return c.jmespath(path, s.in(placed(data)), field)
}

func (c *converter) contextVariable(v *kyvernov1.Variable, s scope, field string) (term, error) {
	if v.Value != nil {
		if v.JMESPath != "" {
			return term{}, refuse(field+".jmesPath", byHand, "the variable has a value and a path")
		}
		return c.constant(v.Value, s, field+".value")
	}
	t, err := c.jmespath(strings.TrimSpace(v.JMESPath), s, field+".jmesPath")
	if err != nil || v.Default == nil {
		return t, err
	}
	otherwise, err := c.constant(v.Default, s, field+".default")
	if err != nil {
		return term{}, err
	}
	out := known(t.or(otherwise.cel), t.kind)
	if t.kind != otherwise.kind {
		out.kind = unknownKind
	}
	return out, nil
}

// constant converts a value that a policy has in YAML.
func (c *converter) constant(written *kyverno.Any, s scope, field string) (term, error) {
	data, err := json.Marshal(written.Value)
	if err != nil {
		return term{}, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return term{}, err
	}
	return c.operandOf(value, s, field)
}

func (c *converter) configMap(ref *kyvernov1.ConfigMapReference, s scope, field string) (term, error) {
	name, err := c.textTemplate(ref.Name, s, field+".name")
	if err != nil {
		return term{}, err
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "default"
	}
	in, err := c.textTemplate(namespace, s, field+".namespace")
	if err != nil {
		return term{}, err
	}
	return placed(at(method(ident("resource"), "Get", quote("v1"), quote("configmaps"), in, name))), nil
}

// textTemplate converts a text that may have variables.
func (c *converter) textTemplate(text string, s scope, field string) (cel, error) {
	if !strings.Contains(text, "{{") {
		return quote(text), nil
	}
	t, err := c.template(text, s, field)
	if err != nil {
		return nil, err
	}
	return textOf(t), nil
}

// apiCall converts a request for resources of the cluster.
func (c *converter) apiCall(call *kyvernov1.ContextAPICall, s scope, field string) (term, error) {
	switch {
	case call.Service != nil:
		return term{}, refuse(field+".service", "use http.Get() or http.Post() of CEL by hand", "calls of services are not converted")
	case call.Method != "" && call.Method != "GET":
		return term{}, refuse(field+".method", "use resource.Post() of CEL by hand", "only GET is converted")
	case strings.Contains(call.URLPath, "?"):
		return term{}, refuse(field+".urlPath", "use resource.List() with labels by hand", "the request has parameters")
	}
	data, err := c.resourcesAt(call.URLPath, s, field+".urlPath")
	if err != nil {
		return term{}, err
	}
	t, err := c.selected(at(data), call.JMESPath, s, field+".jmesPath")
	if err != nil || call.Default == nil {
		return t, err
	}
	return term{}, refuse(field+".default", byHand, "a default for what can't be loaded has no counterpart")
}

// resourcesAt converts the path of a request: a list of resources, or one of them.
func (c *converter) resourcesAt(path string, s scope, field string) (cel, error) {
	path = strings.TrimPrefix(strings.TrimSpace(path), "/")
	parts := splitPath(path)
	var version, namespace string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		version, parts = parts[1]+"/"+parts[2], parts[3:]
	default:
		return nil, refuse(field, byHand, "the path %q is not one of resources", path)
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	function := "List"
	if len(parts) == 2 {
		function = "Get"
	} else if len(parts) > 2 {
		return nil, refuse(field, byHand, "the path %q is one of a subresource", path)
	}
	var arguments []cel
	for _, part := range slices.Concat([]string{version, parts[0], namespace}, parts[1:]) {
		argument, err := c.textTemplate(part, s, field)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, argument)
	}
	return method(ident("resource"), function, arguments...), nil
}

// splitPath cuts a path at slashes outside variables.
func splitPath(path string) []string {
	var parts []string
	depth, begin := 0, 0
	for i := range path {
		switch {
		case strings.HasPrefix(path[i:], "{{"):
			depth++
		case strings.HasPrefix(path[i:], "}}"):
			depth--
		case path[i] == '/' && depth == 0:
			parts = append(parts, path[begin:i])
			begin = i + 1
		}
	}
	return append(parts, strings.TrimSuffix(path[begin:], "/"))
}
