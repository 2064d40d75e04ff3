// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenOpenapi are servers that break the rules of this area.
func brokenOpenapi() map[string]broken.Server {
	return map[string]broken.Server{
		"openapi-v3-index": broken.That("does not list its groups in /openapi/v3", broken.OnAnswered(openAPIIndex, func(object map[string]any) {
			paths := broken.FieldsOf(object, "paths")
			for path := range paths {
				if strings.HasPrefix(path, "apis/") {
					delete(paths, path)
				}
			}
		})),
		"openapi-v3-hash": broken.That("forbids to keep OpenAPI documents", broken.OnAnswer(publishedSchemas, func(_ *http.Request, a *broken.Answer) {
			a.Header.Set("Cache-Control", "no-store")
			a.Header.Del("Expires")
		})),
		"openapi-v2": broken.That("does not say in /openapi/v2 which definitions are those of kinds", broken.OnAnswered(broken.Path("/openapi/v2"), func(object map[string]any) { withoutKinds(broken.FieldsOf(object, "definitions")) })),
		"openapi-kinds": broken.That("does not say in OpenAPI v3 documents which schemas are those of kinds", broken.OnAnswered(publishedSchemas, func(object map[string]any) {
			withoutKinds(broken.FieldsOf(broken.FieldsOf(object, "components"), "schemas"))
		})),
		"openapi-paths": broken.That("does not document patches", broken.OnAnswered(publishedSchemas, func(object map[string]any) {
			for _, one := range broken.FieldsOf(object, "paths") {
				if item, ok := one.(map[string]any); ok {
					delete(item, "patch")
				}
			}
		})),
		"openapi-metadata":     broken.That("says of metadata only that it is an object", onKindSchemas(func(fields map[string]any) { fields["metadata"] = map[string]any{"type": "object"} })),
		"openapi-descriptions": broken.That("does not describe what a spec is", onKindSchemas(func(fields map[string]any) { delete(broken.FieldsOf(fields, "spec"), "description") })),
		"openapi-no-floats": broken.That("has a floating-point number in a spec", onKindSchemas(func(fields map[string]any) {
			ratio := map[string]any{"type": "number", "format": "double", "description": "A ratio."}
			broken.FieldsOf(broken.FieldsOf(fields, "spec"), "properties")["tuning"] = map[string]any{
				"type": "object", "description": "How it is tuned.", "properties": map[string]any{"ratio": ratio},
			}
		})),
		"openapi-list-keys": broken.That("has lists with a key that their items do not have", onKindSchemas(func(fields map[string]any) {
			status := broken.FieldsOf(broken.FieldsOf(fields, "status"), "properties")
			broken.FieldsOf(status, "conditions")["x-kubernetes-list-map-keys"] = []any{"name"}
		})),
		"openapi-live-object": broken.That("has fields in a spec that the schema does not have", onKindSchemas(func(fields map[string]any) {
			spec := broken.FieldsOf(fields, "spec")
			delete(broken.FieldsOf(spec, "properties"), "color")
			delete(spec, "required")
		})),
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
	return broken.OnAnswered(publishedSchemas, func(object map[string]any) {
		for _, one := range broken.FieldsOf(broken.FieldsOf(object, "components"), "schemas") {
			schema, _ := one.(map[string]any)
			fields, _ := schema["properties"].(map[string]any)
			if schema["x-kubernetes-group-version-kind"] != nil && fields["spec"] != nil {
				edit(fields)
			}
		}
	})
}
