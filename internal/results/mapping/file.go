// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxFile is the largest size of a file in bytes.
const maxFile = 1 << 20

// Kind is a kind of objects that have rows of results.
type Kind struct {
	Group   string `json:"group"   yaml:"group"`
	Version string `json:"version" yaml:"version"`
	Kind    string `json:"kind"    yaml:"kind"`
	// Resource is the name of the kind in addresses, such as vulnerabilityreports.
	Resource   string `json:"resource"   yaml:"resource"`
	Namespaced bool   `json:"namespaced" yaml:"-"`
}

// GroupVersion returns what objects of the kind have as apiVersion.
func (k Kind) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}
}

// GroupResource returns the resource with its group, which is also the name of the mapping.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Mapping says which results the objects of a kind have.
type Mapping struct {
	Kind `yaml:",inline"`

	Scope string `yaml:"scope"`
	// Subject is what a whole object is about, and Source who made it.
	Subject subject    `yaml:"subject"`
	Source  expression `yaml:"source"`
	Results []*block   `yaml:"results"`
}

// block says where some of the results are, and what they are.
type block struct {
	Items      expression            `yaml:"items"`
	Source     expression            `yaml:"source"`
	Policy     expression            `yaml:"policy"`
	Rule       expression            `yaml:"rule"`
	Category   expression            `yaml:"category"`
	Severity   expression            `yaml:"severity"`
	Result     expression            `yaml:"result"`
	Message    expression            `yaml:"message"`
	Timestamp  expression            `yaml:"timestamp"`
	Scored     expression            `yaml:"scored"`
	Subject    subject               `yaml:"subject"`
	Properties map[string]expression `yaml:"properties"`

	fields []field
}

// subject has the parts of a reference to an object.
type subject struct {
	APIVersion expression `yaml:"apiVersion"`
	Kind       expression `yaml:"kind"`
	Namespace  expression `yaml:"namespace"`
	Name       expression `yaml:"name"`
	UID        expression `yaml:"uid"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (e *expression) UnmarshalYAML(node *yaml.Node) error {
	texts := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		texts = node.Content
	}
	for _, text := range texts {
		if text.Kind != yaml.ScalarNode || text.Value == "" {
			return fmt.Errorf("line %d: must be an expression in CEL, or a list of them; quote what YAML takes for something else", text.Line)
		}
		*e = append(*e, &alternative{text: text.Value, line: text.Line})
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler, for the digest.
func (a *alternative) MarshalText() ([]byte, error) { return []byte(a.text), nil }

// parse returns the mappings of a file, compiled. Each error has the file, and the line where there is one.
func parse(c compiler, file string, data []byte) ([]*Mapping, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file has %d bytes; a file of mappings has at most %d", file, len(data), maxFile)
	}
	var all []*Mapping
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	for {
		var document struct {
			Mappings []*Mapping `yaml:"mappings"`
		}
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s; docs/produce/result-mappings.md has the fields", file, said(err))
		}
		all = append(all, document.Mappings...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there is no mapping in it; give a list of them as mappings", file)
	}
	var errs []error
	for i, m := range all {
		if m == nil {
			errs = append(errs, fmt.Errorf("%s: mapping %d is empty", file, i+1))
			continue
		}
		for _, err := range m.complete(c) {
			errs = append(errs, fmt.Errorf("%s: mapping %d (%s): %w", file, i+1, m.GroupResource(), err))
		}
	}
	return all, errors.Join(errs...)
}

// said returns an error of the decoder in a user's words.
func said(err error) string {
	return strings.NewReplacer(
		"yaml: ", "", "unmarshal errors:\n  ", "", "\n  ", "; ", "struct { Mappings []*mapping.Mapping \"yaml:\\\"mappings\\\"\" }", "the file",
		"[]*mapping.Mapping", "a list of mappings", "[]*mapping.block", "a list of results", "map[string]mapping.expression", "properties",
		"mapping.Mapping", "a mapping", "mapping.block", "results", "mapping.subject", "subject",
	).Replace(err.Error())
}

// complete checks a mapping, and compiles its expressions.
func (m *Mapping) complete(c compiler) []error {
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{field}, args...)...))
	}
	for _, name := range []struct{ field, value, example string }{
		{"group", m.Group, "example.com"}, {"version", m.Version, "v1alpha1"}, {"kind", m.Kind.Kind, "Finding"}, {"resource", m.Resource, "findings"},
	} {
		switch lower := strings.ToLower(name.value); {
		case name.value == "":
			wrong(name.field, "is missing; give it as in the CustomResourceDefinition, such as %s", name.example)
		case len(validation.IsDNS1123Subdomain(lower)) > 0 || name.field != "kind" && lower != name.value:
			wrong(name.field, "%q is no name; give it as in the CustomResourceDefinition, such as %s", name.value, name.example)
		}
	}
	switch m.Scope {
	case "Namespaced":
		m.Namespaced = true
	case "Cluster":
	default:
		wrong("scope", "%q is neither Namespaced nor Cluster; give it as in the CustomResourceDefinition", m.Scope)
	}
	if len(m.Results) == 0 {
		wrong("results", "is missing; say where the results are, in a list of items, policy, result and so on")
	}
	errs = append(errs, m.compile(c)...)
	return errs
}
