// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/conformance"
	"github.com/docket-project/docket/internal/conformance/object"
)

// metadataFields are those that metadata has in all versions of Kubernetes.
var metadataFields = []string{
	"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"labels", "name", "namespace", "ownerReferences", "resourceVersion", "uid",
}

func openAPIKinds(ctx context.Context, p *conformance.Probe) error {
	return whenSettled(ctx, p, func(ctx context.Context) error {
		document, err := readOpenAPI(ctx, p)
		if err != nil {
			return err
		}
		if document == nil {
			return errNoSchemas
		}
		found := map[schema.GroupVersionKind]bool{}
		for _, resource := range p.Resources {
			kind := kindOf(resource)
			found[kind] = document.kind(kind) != nil
		}
		return failIfAny(document.Response, missingKinds(p, found), "a schema with x-kubernetes-group-version-kind for each kind of "+p.GroupVersion.String())
	})
}

func openAPIMetadata(ctx context.Context, p *conformance.Probe) error {
	const expected = "each kind to have the strings apiVersion and kind, and the metadata of all objects"
	return judgeKinds(ctx, p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
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
}

func openAPIDescriptions(ctx context.Context, p *conformance.Probe) error {
	const expected = "descriptions of each kind and its top-level fields"
	return judgeKinds(ctx, p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
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
}

func openAPINoFloats(ctx context.Context, p *conformance.Probe) error {
	hasSpec := false
	err := judgeKinds(ctx, p, "no floating-point numbers in a spec", func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
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
	if err == nil && !hasSpec {
		return conformance.Leave("no kind has a spec")
	}
	return err
}

// mayBeText tells whether a string is among the types of a value: quantities may be numbers, too.
func mayBeText(document *openAPIDocument, s openAPISchema) bool {
	for _, branch := range append(s.schemas("oneOf"), s.schemas("anyOf")...) {
		if slices.Contains(document.types(branch), "string") {
			return true
		}
	}
	return false
}

// isOfSchemas tells whether values are JSON schemas, as in the definitions of custom resources: those
// have numbers.
func isOfSchemas(s openAPISchema) bool {
	fields := s.properties()
	return fields["multipleOf"] != nil && fields["exclusiveMaximum"] != nil
}

func openAPIListKeys(ctx context.Context, p *conformance.Probe) error {
	const expected = "lists of the type atomic, set or map, and of map the keys among the scalar fields of the items"
	return judgeKinds(ctx, p, expected, func(document *openAPIDocument, kind string, s openAPISchema) (wrong []string) {
		document.walk(kind, s, func(path string, s openAPISchema) bool {
			if problem := listProblem(document, s); problem != "" {
				wrong = append(wrong, path+": "+problem)
			}
			return true
		})
		return wrong
	})
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

func openAPILiveObject(ctx context.Context, p *conformance.Probe) error {
	document, err := readOpenAPI(ctx, p)
	if err != nil {
		return err
	}
	if document.kind(p.Resource.GVK()) == nil {
		return errNoSchemas
	}
	schemas, err := object.ReadSchemas(document.Body)
	if err != nil {
		return document.FailBecause(err.Error(), "an OpenAPI document whose schemas can be read")
	}
	made, err := p.Make(ctx)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Get(p.Path(made.GetName())))
	if err != nil {
		return err
	}
	live, err := response.Object()
	if err != nil {
		return &conformance.SetupError{Wanted: "read the object", Exchange: response.Exchange}
	}
	live.SetGroupVersionKind(p.Resource.GVK()) // Another check looks at those.
	return failIfAny(response, schemas.Differences(live), "an object as the schema of its kind in /openapi/v3"+conformance.GroupVersionPath(p.GroupVersion)+" has it")
}
