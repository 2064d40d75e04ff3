// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docket-project/docket/conformance/object"
	"github.com/docket-project/docket/conformance/runner"
)

// metadataFields are those that metadata has in all versions of Kubernetes.
var metadataFields = []string{
	"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"labels", "name", "namespace", "ownerReferences", "resourceVersion", "uid",
}

var openapiSchemas = []runner.Check{
	{
		ID: "openapi-metadata", Area: areaOpenAPI,
		Rule:      "The schema of each kind has the strings apiVersion and kind, and metadata with the fields of all objects.",
		Detail:    "The schema of metadata need not be called ObjectMeta, but must have the same fields. A schema without any fields passes.",
		Reference: apiConventions + "#metadata",
		Run: func(p *runner.Probe) {
			const expected = "each kind to have the strings apiVersion and kind, and the metadata of all objects"
			judgeKinds(p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
				fields := document.fields(s)
				if len(fields) == 0 {
					return nil
				}
				for _, name := range []string{"apiVersion", "kind"} {
					if types := document.types(fields[name]); !slices.Equal(types, []string{"string"}) {
						wrong = append(wrong, fmt.Sprintf("%s.%s is not a string", kind, name))
					}
				}
				have := document.fields(fields["metadata"])
				for _, name := range metadataFields {
					if have[name] == nil {
						return append(wrong, fmt.Sprintf("%s.metadata has no field %s", kind, name))
					}
				}
				return wrong
			})
		},
	},
	{
		ID: "openapi-descriptions", Area: areaOpenAPI,
		Rule:      "The schema of each kind describes the kind and its top-level fields.",
		Detail:    "kubectl explain shows them. apiVersion, kind, metadata, and deeper fields need none.",
		Reference: openAPIText,
		Run: func(p *runner.Probe) {
			const expected = "descriptions of each kind and its top-level fields"
			judgeKinds(p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
				if document.description(s) == "" {
					wrong = append(wrong, kind+" has none")
				}
				fields := document.fields(s)
				for _, name := range slices.Sorted(maps.Keys(fields)) {
					if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) && document.description(fields[name]) == "" {
						wrong = append(wrong, kind+"."+name+" has none")
					}
				}
				return wrong
			})
		},
	},
	{
		ID: "openapi-no-floats", Area: areaOpenAPI,
		Rule:      "No field of a spec is a floating-point number.",
		Detail:    "Looks for the type number everywhere below spec. Numbers that may be written as strings, such as quantities, are fine, and so are JSON schemas in a spec.",
		Reference: apiConventions + "#primitive-types",
		Run: func(p *runner.Probe) {
			hasSpec := false
			judgeKinds(p, "no floating-point numbers in a spec", func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
				spec := document.fields(s)["spec"]
				hasSpec = hasSpec || spec != nil
				document.walk(kind+".spec", spec, func(path string, s openAPISchema) bool {
					if slices.Equal(s.types(), []string{"number"}) {
						wrong = append(wrong, path+" is a number")
					}
					return !mayBeText(document, s) && !isOfSchemas(s)
				})
				return wrong
			})
			if !hasSpec {
				runner.Leave("no kind has a spec")
			}
		},
	},
	{
		ID: "openapi-list-keys", Area: areaOpenAPI,
		Rule:      "x-kubernetes-list-type is atomic, set, or map; the keys of a map are scalar fields of its items.",
		Detail:    "Looks at all lists in the schemas of the kinds. Server-side apply can't merge lists whose items have no keys.",
		Reference: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy",
		Run: func(p *runner.Probe) {
			const expected = "lists of the type atomic, set or map, and of map the keys among the scalar fields of the items"
			judgeKinds(p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
				document.walk(kind, s, func(path string, s openAPISchema) bool {
					if problem := listProblem(document, s); problem != "" {
						wrong = append(wrong, path+": "+problem)
					}
					return true
				})
				return wrong
			})
		},
	},
	{
		ID: "openapi-live-object", Area: areaOpenAPI, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "Objects have only fields in the published schema, with the types given there.",
		Detail:    "Creates an object and compares it with the OpenAPI v3 schema. Fields without a type may have any value.",
		Reference: openAPIText,
		Run: func(p *runner.Probe) {
			document := readOpenAPI(p)
			if document.kind(p.Resource.GVK()) == nil {
				runner.Leave(noSchemas)
			}
			schemas, err := object.ReadSchemas(document.Body)
			if err != nil {
				document.FailBecause(err.Error(), "an OpenAPI document whose schemas can be read")
			}
			made := p.Make()
			response := p.Send(runner.Get(p.Path(made.GetName())))
			live := response.Object()
			live.SetGroupVersionKind(p.Resource.GVK()) // Another check looks at those.
			failIfAny(response, schemas.Differences(live), "an object as the schema of its kind in /openapi/v3"+runner.GroupVersionPath(p.GroupVersion)+" has it")
		},
	},
}

// mayBeText reports whether a string is among the types of a value: quantities may be numbers, too.
func mayBeText(document *openAPIDocument, s openAPISchema) bool {
	for _, branch := range append(s.schemas("oneOf"), s.schemas("anyOf")...) {
		if slices.Contains(document.types(branch), "string") {
			return true
		}
	}
	return false
}

// isOfSchemas reports whether values are JSON schemas, as in the definitions of custom resources: those have numbers.
func isOfSchemas(s openAPISchema) bool {
	fields := s.properties()
	return fields["multipleOf"] != nil && fields["exclusiveMaximum"] != nil
}

// listProblem says what is wrong with how a list is merged; empty if nothing.
func listProblem(document *openAPIDocument, s openAPISchema) string {
	value, marked := s["x-kubernetes-list-type"]
	switch value {
	case "atomic", "set":
		return ""
	case "map":
	default:
		if marked {
			return fmt.Sprintf("the type is %v", value)
		}
		return ""
	}
	keys := s.list("x-kubernetes-list-map-keys")
	if len(keys) == 0 {
		return "the map has no keys"
	}
	fields := document.fields(s.schema("items"))
	var wrong []string
	for _, key := range keys {
		name, _ := key.(string)
		field, known := fields[name]
		types := document.types(field)
		switch {
		case !known:
			wrong = append(wrong, fmt.Sprintf("the items have no field %v", key))
		case slices.Contains(types, "object") || slices.Contains(types, "array"):
			wrong = append(wrong, fmt.Sprintf("the field %s of the items is not a scalar", name))
		}
	}
	return strings.Join(wrong, ", ")
}
