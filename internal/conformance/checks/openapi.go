// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"slices"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaOpenAPI = "OpenAPI"

	openAPIV3Text = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3"
	openAPIText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition"
)

func openapi() []conformance.Check {
	return slices.Concat(openAPIDocuments(), openAPISchemas())
}

func openAPIDocuments() []conformance.Check {
	return []conformance.Check{
		{
			ID: "openapi-v3-index", Area: areaOpenAPI,
			Rule:      "/openapi/v3 lists the group version, and where its document is.",
			Detail:    "Looks for the path apis/GROUP/VERSION, or api/v1 for the core group, with a serverRelativeURL. What is just registered may be missing for a few seconds.",
			Reference: openAPIV3Text,
			Run:       openAPIV3Index,
		},
		{
			ID: "openapi-v3-hash", Area: areaOpenAPI,
			Rule:      "The address of an OpenAPI v3 document has its hash: the document may be kept, and who has it already is answered with 304.",
			Detail:    "Gets the document at the address that /openapi/v3 has for it. It needs an ETag, and Cache-Control or Expires that allow to keep it.",
			Reference: openAPIV3Text,
			Run:       openAPIV3Hash,
		},
		{
			ID: "openapi-v2", Area: areaOpenAPI,
			Rule:      "/openapi/v2 has a definition for each kind.",
			Detail:    "Reads the document and looks for the kinds in x-kubernetes-group-version-kind. What is just registered may be missing for a few seconds.",
			Reference: "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2",
			Run:       openAPIV2,
		},
		{
			ID: "openapi-kinds", Area: areaOpenAPI,
			Rule:      "The OpenAPI v3 document of the group version has a schema for each kind that discovery has.",
			Detail:    "Looks for the kinds in x-kubernetes-group-version-kind. All other checks of schemas leave out kinds without one.",
			Reference: openAPIV3Text,
			Run:       openAPIKinds,
		},
		{
			ID: "openapi-paths", Area: areaOpenAPI,
			Rule:      "The OpenAPI v3 document of the group version has an operation for each verb of each resource, which says what it does to which kind.",
			Detail:    "Looks for get, list, create, update, patch, delete and deletecollection where discovery has them, with x-kubernetes-action and x-kubernetes-group-version-kind. Leaves subresources alone.",
			Reference: openAPIV3Text,
			Run:       openAPIPaths,
		},
	}
}

func openAPISchemas() []conformance.Check {
	return []conformance.Check{
		{
			ID: "openapi-metadata", Area: areaOpenAPI,
			Rule:      "The schema of each kind has apiVersion and kind, which are strings, and metadata, which is that of all objects.",
			Detail:    "Metadata need not be called ObjectMeta, but has to have the same fields. A schema without any field passes.",
			Reference: apiConventions + "#metadata",
			Run:       openAPIMetadata,
		},
		{
			ID: "openapi-descriptions", Area: areaOpenAPI,
			Rule:      "The schema of each kind describes the kind and its top-level fields.",
			Detail:    "kubectl explain shows the descriptions. apiVersion, kind and metadata need none, and fields further down are not looked at.",
			Reference: openAPIText,
			Run:       openAPIDescriptions,
		},
		{
			ID: "openapi-no-floats", Area: areaOpenAPI,
			Rule:      "No field of a spec is a floating-point number.",
			Detail:    "Looks for the type number in everything below spec. Numbers that may be written as strings, as quantities are, are fine, and so are JSON schemas in a spec.",
			Reference: apiConventions + "#primitive-types",
			Run:       openAPINoFloats,
		},
		{
			ID: "openapi-list-keys", Area: areaOpenAPI,
			Rule:      "x-kubernetes-list-type is atomic, set or map; the keys of a map are scalar fields of its items.",
			Detail:    "Looks at all lists in the schemas of the kinds. Server-side apply cannot merge lists whose items have no keys.",
			Reference: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy",
			Run:       openAPIListKeys,
		},
		{
			ID: "openapi-live-object", Area: areaOpenAPI,
			Rule:        "Objects have only fields that the published schema has, of the types that it says.",
			Detail:      "Makes an object and compares what the server returns with the OpenAPI v3 schema of its kind. Fields that are allowed to be anything are.",
			Reference:   openAPIText,
			PerResource: true, Verbs: []string{"create", "get"},
			Run: openAPILiveObject,
		},
	}
}
