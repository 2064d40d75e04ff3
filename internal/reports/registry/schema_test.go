// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestSchemas compares every field of every kind, with its type, enum and list
// marker, to testdata/schema. These files state what the custom resource
// definitions publish, so -update doesn't touch them.
func TestSchemas(t *testing.T) {
	t.Parallel()
	definitions := newDefinitions(t)
	for _, kind := range Kinds() {
		t.Run(kind.Resource, func(t *testing.T) {
			t.Parallel()
			lines := definitions.flatten(t, *definitions[modelName(kind)], "", false)
			slices.Sort(lines)
			got := strings.Join(lines, "\n") + "\n"
			testkit.NoDiff(t, cmp.Diff(readGolden(t, "schema/"+kind.Resource+".golden"), got), "fields of %s (-published +ours)", kind.Resource)
		})
	}
}

// TestFieldsAreDescribed holds what kubectl explain prints.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	described := 0
	for name, definition := range newDefinitions(t) {
		if strings.HasPrefix(name, "io.k8s.") {
			continue
		}
		if definition.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for property, schema := range definition.Properties {
			described++
			if schema.Description == "" && !strings.HasSuffix(name, ".Counts") {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
	if described == 0 {
		t.Error("no fields found")
	}
}

type definitions map[string]*spec.Schema

func newDefinitions(t *testing.T) definitions {
	t.Helper()
	all := definitions{}
	for _, of := range testkit.Must(newDocuments(Kinds()))(t).v3 {
		maps.Copy(all, of.Components.Schemas)
	}
	return all
}

// modelName returns the name of a kind in OpenAPI documents.
func modelName(kind Kind) string {
	labels := strings.Split(kind.GroupVersionKind.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, kind.GroupVersionKind.Version, kind.GroupVersionKind.Kind), ".")
}

// flatten returns one line for each field under schema.
func (d definitions) flatten(t *testing.T, schema spec.Schema, path string, required bool) []string {
	t.Helper()
	if ref := schema.Ref.String(); ref != "" {
		target, ok := d[strings.TrimPrefix(ref, "#/components/schemas/")]
		if !ok {
			t.Fatalf("%s refers to unknown definition %s", path, ref)
		}
		schema = *target
	}
	var lines []string
	if path != "" {
		lines = append(lines, describe(path, schema, required))
	}
	for name, property := range schema.Properties {
		child := name
		if path != "" {
			child = path + "." + name
		} else if name == "apiVersion" || name == "kind" || name == "metadata" {
			continue
		}
		lines = append(lines, d.flatten(t, property, child, slices.Contains(schema.Required, name))...)
	}
	if schema.Items != nil {
		lines = append(lines, d.flatten(t, *schema.Items.Schema, path+"[]", false)...)
	}
	return lines
}

func describe(path string, schema spec.Schema, required bool) string {
	line := path + " " + strings.Join(schema.Type, ",")
	if len(schema.Enum) > 0 {
		var values []string
		for _, value := range schema.Enum {
			values = append(values, fmt.Sprint(value))
		}
		slices.Sort(values)
		line += " enum=" + strings.Join(values, ",")
	}
	if schema.AdditionalProperties != nil {
		line += " of " + strings.Join(schema.AdditionalProperties.Schema.Type, ",")
	}
	for _, extension := range []string{"x-kubernetes-map-type", "x-kubernetes-list-type"} {
		if value, ok := schema.Extensions.GetString(extension); ok {
			line += " " + value
		}
	}
	if required {
		line += " required"
	}
	return line
}
