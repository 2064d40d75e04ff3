// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/object"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaOpenAPI = "OpenAPI"

	openAPIV3Text = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3"
	openAPIText   = "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition"
)

var openapi = []runner.Check{
	{
		ID: "openapi-v3-index", Area: areaOpenAPI,
		Rule:      "/openapi/v3 lists the group version and the address of its document.",
		Detail:    "Looks for apis/GROUP/VERSION, or api/v1, with a serverRelativeURL. A new group may be missing for a few seconds.",
		Reference: openAPIV3Text,
		Run: settled(func(p *runner.Probe) {
			response, address := openAPIAddress(p)
			readDocument(response, "the list of documents", &map[string]any{})
			if address == "" {
				response.Fail("the path %s with a serverRelativeURL", openAPIPath(p))
			}
		}),
	},
	{
		ID: "openapi-v3-hash", Area: areaOpenAPI,
		Rule:      "The address of an OpenAPI v3 document contains its hash: clients may cache the document, and one that already has it gets 304.",
		Detail:    "Gets the document at the address in /openapi/v3. It must have an ETag, and a Cache-Control or Expires header that allows caching.",
		Reference: openAPIV3Text,
		Run: settled(func(p *runner.Probe) {
			// Between two requests the document may change: other versions of its kinds do that, too.
			index, address := openAPIAddress(p)
			if address == "" {
				runner.Leave("/openapi/v3 does not list the group version, which another check reports")
			}
			target, err := url.Parse(address)
			if err != nil || !strings.HasPrefix(target.Path, "/") || target.Query().Get("hash") == "" {
				index.FailBecause(fmt.Sprintf("it is %q", address), "the serverRelativeURL of %s to be an absolute path with the parameter hash", openAPIPath(p))
			}
			openAPIKept(p, runner.Request{Method: http.MethodGet, Path: target.Path, Query: target.Query(), Header: http.Header{}}.With("Accept", runner.JSON))
		}),
	},
	{
		ID: "openapi-v2", Area: areaOpenAPI,
		Rule:      "/openapi/v2 has a definition for each kind.",
		Detail:    "Looks for the kinds in x-kubernetes-group-version-kind. A new kind may be missing for a few seconds.",
		Reference: "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2",
		Run: settled(func(p *runner.Probe) {
			var document struct {
				Swagger     string                     `json:"swagger"`
				Definitions map[string]json.RawMessage `json:"definitions"`
			}
			response := wantDocument(p, "/openapi/v2", "the OpenAPI v2 document", &document)
			if document.Swagger != "2.0" {
				response.FailBecause(fmt.Sprintf("swagger is %q", document.Swagger), "an OpenAPI document of version 2.0")
			}
			found := map[schema.GroupVersionKind]bool{}
			for _, definition := range document.Definitions {
				var content openAPISchema
				// Documents of version 2 are too large to read what can't be of a kind.
				if bytes.Contains(definition, []byte(kindExtension)) && json.Unmarshal(definition, &content) == nil {
					for _, kind := range content.kinds() {
						found[kind] = true
					}
				}
			}
			failIfAny(response, missingKinds(p, found), "a definition with x-kubernetes-group-version-kind for each kind of "+p.GroupVersion.String())
		}),
	},
	{
		ID: "openapi-kinds", Area: areaOpenAPI,
		Rule:      "The OpenAPI v3 document of the group version has a schema for each kind in discovery.",
		Detail:    "Looks for the kinds in x-kubernetes-group-version-kind. All other checks of schemas skip kinds without one.",
		Reference: openAPIV3Text,
		Run: settled(func(p *runner.Probe) {
			document := readOpenAPI(p)
			if document == nil {
				runner.Leave(noSchemas)
			}
			found := map[schema.GroupVersionKind]bool{}
			for _, resource := range p.Resources {
				kind := kindOf(resource)
				found[kind] = document.kind(kind) != nil
			}
			failIfAny(document.Response, missingKinds(p, found), "a schema with x-kubernetes-group-version-kind for each kind of "+p.GroupVersion.String())
		}),
	},
	{
		ID: "openapi-paths", Area: areaOpenAPI,
		Rule:      "The OpenAPI v3 document of the group version has an operation for each verb of each resource, with its action and its kind.",
		Detail:    "Looks for get, list, create, update, patch, delete, and deletecollection where discovery lists them, with x-kubernetes-action and x-kubernetes-group-version-kind. Subresources are not checked.",
		Reference: openAPIV3Text,
		Run: func(p *runner.Probe) {
			document := readOpenAPI(p)
			if document == nil {
				runner.Leave(noSchemas)
			}
			paths := map[string]openAPISchema{}
			for path := range document.paths {
				paths[pathParameter.ReplaceAllString(path, "{}")] = document.paths.schema(path)
			}
			var wrong []string
			for _, resource := range p.Resources {
				for _, operation := range verbOperations() {
					if !resource.Has(operation.verb) {
						continue
					}
					if problem := operation.problem(resource, paths); problem != "" {
						wrong = append(wrong, problem)
					}
				}
			}
			failIfAny(document.Response, wrong, "an operation for each verb of each resource, with its x-kubernetes-action and x-kubernetes-group-version-kind")
		},
	},
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

// openAPIAddress returns where /openapi/v3 says that the document of the group version is; empty if
// it does not list it.
func openAPIAddress(p *runner.Probe) (*runner.Response, string) {
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	response := p.Send(runner.Get("/openapi/v3"))
	json.Unmarshal(response.Body, &index) //nolint:errcheck // There is no address then.
	return response, index.Paths[openAPIPath(p)].ServerRelativeURL
}

func openAPIPath(p *runner.Probe) string {
	return strings.TrimPrefix(runner.GroupVersionPath(p.GroupVersion), "/")
}

// openAPIKept gets a document twice.
func openAPIKept(p *runner.Probe, request runner.Request) {
	response := p.Send(request)
	var document struct {
		OpenAPI string `json:"openapi"`
	}
	err := json.Unmarshal(response.Body, &document)
	switch {
	case response.Code != http.StatusOK || err != nil || !strings.HasPrefix(document.OpenAPI, "3."):
		response.Fail("an OpenAPI document of version 3 at the address that /openapi/v3 has for it")
	case !mayBeKept(response.Header):
		response.FailBecause(fmt.Sprintf("Cache-Control is %q, Expires %q", response.Header.Values("Cache-Control"), response.Header.Get("Expires")),
			"a document that clients may keep: Cache-Control with immutable or max-age, or Expires in the future")
	case response.Header.Get("ETag") == "":
		response.Fail("an ETag")
	}
	p.Send(request.With("If-None-Match", response.Header.Get("ETag"))).Want(http.StatusNotModified)
}

// mayBeKept looks for what allows a client to keep an answer. An aggregator may add headers of its own
// to those of the server behind it.
func mayBeKept(header http.Header) bool {
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(header.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		seconds, err := strconv.Atoi(strings.Trim(value, `"`))
		if name == "immutable" || name == "max-age" && err == nil && seconds > 0 {
			return true
		}
	}
	for _, layout := range []string{http.TimeFormat, time.RFC1123} {
		if end, err := time.Parse(layout, header.Get("Expires")); err == nil && end.After(time.Now()) {
			return true
		}
	}
	return false
}

// missingKinds names the kinds of the resources that are not found.
func missingKinds(p *runner.Probe, found map[schema.GroupVersionKind]bool) []string {
	var missing []string
	for _, resource := range p.Resources {
		if kind := kindOf(resource); !found[kind] {
			missing = append(missing, kind.Kind+" is missing")
		}
	}
	return missing
}

// kindOf returns the kind of a resource, which discovery may say to be of another group version.
func kindOf(resource *runner.Resource) schema.GroupVersionKind {
	if resource.APIResource.Group == "" && resource.Version == "" {
		return resource.GVK()
	}
	return schema.GroupVersionKind{Group: resource.APIResource.Group, Version: resource.Version, Kind: resource.Kind}
}

// pathParameter is a part of a path that each request has its own value for.
var pathParameter = regexp.MustCompile(`\{[^{}]*\}`)

// verbOperation is how OpenAPI documents have a verb of discovery.
type verbOperation struct {
	verb, method, action string
	single               bool // It is about one object, which has a name.
}

func verbOperations() []verbOperation {
	return []verbOperation{
		{"get", http.MethodGet, "get", true},
		{"list", http.MethodGet, "list", false},
		{"create", http.MethodPost, "post", false},
		{"update", http.MethodPut, "put", true},
		{"patch", http.MethodPatch, "patch", true},
		{"delete", http.MethodDelete, "delete", true},
		{"deletecollection", http.MethodDelete, "deletecollection", false},
	}
}

// problem says what is wrong with the operation of a resource; empty if nothing.
func (o verbOperation) problem(resource *runner.Resource, paths map[string]openAPISchema) string {
	path := runner.GroupVersionPath(resource.GroupVersion)
	if resource.Namespaced {
		path += "/namespaces/{}"
	}
	path += "/" + resource.Name
	if o.single {
		path += "/{}"
	}
	operation := paths[path].schema(strings.ToLower(o.method))
	if operation == nil {
		return fmt.Sprintf("%s: there is no %s %s for the verb %s", resource.Name, o.method, path, o.verb)
	}
	if action := operation.text("x-kubernetes-action"); action != o.action {
		return fmt.Sprintf("%s: the x-kubernetes-action of %s %s is %q, not %q", resource.Name, o.method, path, action, o.action)
	}
	if kind := operation.schema(kindExtension).kind(); kind != kindOf(resource) {
		return fmt.Sprintf("%s: the x-kubernetes-group-version-kind of %s %s is %q, not %q", resource.Name, o.method, path, kind, kindOf(resource))
	}
	return ""
}

// metadataFields are those that metadata has in all versions of Kubernetes.
var metadataFields = []string{
	"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"labels", "name", "namespace", "ownerReferences", "resourceVersion", "uid",
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
