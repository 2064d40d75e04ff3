// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
