// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"net/url"
	"strings"
)

func openapi() []Breakage { return append(openAPIDocuments(), openAPISchemas()...) }

func openAPIDocuments() []Breakage {
	return []Breakage{
		{
			Check: "openapi-v3-index", What: "does not list its groups in /openapi/v3",
			Break: OnAnswered(openAPIIndex, func(object map[string]any) {
				paths := FieldsOf(object, "paths")
				for path := range paths {
					if strings.HasPrefix(path, "apis/") {
						delete(paths, path)
					}
				}
			}),
		},
		{
			Check: "openapi-v3-hash", What: "has addresses of OpenAPI documents without a hash",
			Break: OnAnswered(openAPIIndex, func(object map[string]any) {
				for _, one := range FieldsOf(object, "paths") {
					entry, _ := one.(map[string]any)
					address, _ := entry["serverRelativeURL"].(string)
					if target, err := url.Parse(address); err == nil && entry != nil {
						entry["serverRelativeURL"] = target.Path
					}
				}
			}),
		},
		{
			Check: "openapi-v3-hash", What: "forbids to keep OpenAPI documents",
			Break: OnAnswer(publishedSchemas, func(_ *http.Request, a *Answer) {
				a.Header.Set("Cache-Control", "no-store")
				a.Header.Del("Expires")
			}),
		},
		{
			Check: "openapi-v2", What: "does not say in /openapi/v2 which definitions are those of kinds",
			Break: OnAnswered(Path("/openapi/v2"), func(object map[string]any) { withoutKinds(FieldsOf(object, "definitions")) }),
		},
		{
			Check: "openapi-kinds", What: "does not say in OpenAPI v3 documents which schemas are those of kinds",
			Break: OnAnswered(publishedSchemas, func(object map[string]any) { withoutKinds(FieldsOf(FieldsOf(object, "components"), "schemas")) }),
		},
	}
}

func openAPISchemas() []Breakage {
	return []Breakage{
		{
			Check: "openapi-paths", What: "does not document patches",
			Break: OnAnswered(publishedSchemas, func(object map[string]any) {
				for _, one := range FieldsOf(object, "paths") {
					if item, ok := one.(map[string]any); ok {
						delete(item, "patch")
					}
				}
			}),
		},
		{
			Check: "openapi-metadata", What: "says of metadata only that it is an object",
			Break: onKindSchemas(func(fields map[string]any) { fields["metadata"] = map[string]any{"type": "object"} }),
		},
		{
			Check: "openapi-descriptions", What: "does not describe what a spec is",
			Break: onKindSchemas(func(fields map[string]any) { delete(FieldsOf(fields, "spec"), "description") }),
		},
		{
			Check: "openapi-no-floats", What: "has a floating-point number in a spec",
			Break: onKindSchemas(func(fields map[string]any) {
				ratio := map[string]any{"type": "number", "format": "double", "description": "A ratio."}
				FieldsOf(FieldsOf(fields, "spec"), "properties")["tuning"] = map[string]any{
					"type": "object", "description": "How it is tuned.", "properties": map[string]any{"ratio": ratio},
				}
			}),
		},
		{
			Check: "openapi-list-keys", What: "has lists with a key that their items do not have",
			Break: onKindSchemas(func(fields map[string]any) {
				status := FieldsOf(FieldsOf(fields, "status"), "properties")
				FieldsOf(status, "conditions")["x-kubernetes-list-map-keys"] = []any{"name"}
			}),
		},
		{
			Check: "openapi-live-object", What: "has fields in a spec that the schema does not have",
			Break: onKindSchemas(func(fields map[string]any) {
				spec := FieldsOf(fields, "spec")
				delete(FieldsOf(spec, "properties"), "color")
				delete(spec, "required")
			}),
		},
	}
}

func openAPIIndex(r *http.Request) bool { return r.URL.Path == "/openapi/v3" }

// publishedSchemas matches requests for the document of a group version.
func publishedSchemas(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/openapi/v3/apis/")
}

// withoutKinds takes away what tells schemas of kinds from others.
func withoutKinds(schemas map[string]any) {
	for _, one := range schemas {
		if schema, ok := one.(map[string]any); ok {
			delete(schema, "x-kubernetes-group-version-kind")
		}
	}
}

// onKindSchemas has edit change the fields of each kind that has a spec, in OpenAPI v3 documents.
func onKindSchemas(edit func(fields map[string]any)) func(http.Handler) http.Handler {
	return OnAnswered(publishedSchemas, func(object map[string]any) {
		for _, one := range FieldsOf(FieldsOf(object, "components"), "schemas") {
			schema, _ := one.(map[string]any)
			fields, _ := schema["properties"].(map[string]any)
			if schema["x-kubernetes-group-version-kind"] != nil && fields["spec"] != nil {
				edit(fields)
			}
		}
	})
}
