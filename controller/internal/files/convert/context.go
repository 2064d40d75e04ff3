// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
)

// context converts the entries of a context to what their names mean. They are put in where they are used.
func (c *converter) context(entries []kyvernov1.ContextEntry, s scope, field string) map[string]term {
	s = s.with(nil)
	for i, entry := range entries {
		t := c.entry(entry, s, fmt.Sprintf("%s[%d]", field, i))
		s.names[entry.Name] = t
	}
	return s.names
}

func (c *converter) entry(entry kyvernov1.ContextEntry, s scope, field string) term {
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
		return c.refuseTerm(field, "use image.GetMetadata() of CEL by hand", "only variables, ConfigMaps, API calls and global references are converted")
	}
}

// selected converts a JMESPath over data.
func (c *converter) selected(data place, path string, s scope, field string) term {
	if path == "" || path == "@" {
		return placed(data)
	}
	return c.jmespath(path, s.in(placed(data)), field)
}

func (c *converter) contextVariable(v *kyvernov1.Variable, s scope, field string) term {
	if v.Value != nil {
		if v.JMESPath != "" {
			return c.refuseTerm(field+".jmesPath", byHand, "the variable has a value and a path")
		}
		return c.constant(v.Value, s, field+".value")
	}
	t := c.jmespath(strings.TrimSpace(v.JMESPath), s, field+".jmesPath")
	if v.Default == nil {
		return t
	}
	otherwise := c.constant(v.Default, s, field+".default")
	out := known(t.or(otherwise.cel), t.kind)
	if t.kind != otherwise.kind {
		out.kind = unknownKind
	}
	return out
}

// constant converts a value that a policy has in YAML.
func (c *converter) constant(written *kyverno.Any, s scope, field string) term {
	var value any
	if err := recoded(written.Value, &value); err != nil {
		return c.refuseTerm(field, "correct it", "it can't be read: %v", err)
	}
	return c.operandOf(value, s, field)
}

func (c *converter) configMap(ref *kyvernov1.ConfigMapReference, s scope, field string) term {
	name := c.textTemplate(ref.Name, s, field+".name")
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "default"
	}
	in := c.textTemplate(namespace, s, field+".namespace")
	return placed(at(method(ident("resource"), "Get", quote("v1"), quote("configmaps"), in, name)))
}

// textTemplate converts a text that may have variables.
func (c *converter) textTemplate(text string, s scope, field string) cel {
	if !strings.Contains(text, "{{") {
		return quote(text)
	}
	return textOf(c.template(text, s, field))
}

// apiCall converts a request for resources of the cluster.
func (c *converter) apiCall(call *kyvernov1.ContextAPICall, s scope, field string) term {
	switch {
	case call.Service != nil:
		return c.refuseTerm(field+".service", "use http.Get() or http.Post() of CEL by hand", "calls of services are not converted")
	case call.Method != "" && call.Method != "GET":
		return c.refuseTerm(field+".method", "use resource.Post() of CEL by hand", "only GET is converted")
	case strings.Contains(call.URLPath, "?"):
		return c.refuseTerm(field+".urlPath", "use resource.List() with labels by hand", "the request has parameters")
	}
	t := c.selected(at(c.resourcesAt(call.URLPath, s, field+".urlPath")), call.JMESPath, s, field+".jmesPath")
	if call.Default != nil {
		return c.refuseTerm(field+".default", byHand, "a default for what can't be loaded has no counterpart")
	}
	return t
}

// resourcesAt converts the path of a request: a list of resources, or one of them.
func (c *converter) resourcesAt(path string, s scope, field string) cel {
	path = strings.TrimPrefix(strings.TrimSpace(path), "/")
	parts := splitPath(path)
	var version, namespace string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		version, parts = parts[1]+"/"+parts[2], parts[3:]
	default:
		return c.refuse(field, byHand, "the path %q is not one of resources", path)
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	function := "List"
	if len(parts) == 2 {
		function = "Get"
	} else if len(parts) > 2 {
		return c.refuse(field, byHand, "the path %q is one of a subresource", path)
	}
	var arguments []cel
	for _, part := range slices.Concat([]string{version, parts[0], namespace}, parts[1:]) {
		argument := c.textTemplate(part, s, field)
		arguments = append(arguments, argument)
	}
	return method(ident("resource"), function, arguments...)
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
