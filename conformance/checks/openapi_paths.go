// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/runner"
)

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

func openAPIPathsRules() []runner.Check {
	return []runner.Check{openAPIKinds(), openAPIPaths()}
}

func openAPIKinds() runner.Check {
	return runner.Check{
		ID: "openapi-kinds", Area: areaOpenAPI,
		Rule:      "The OpenAPI v3 document of the group version has a schema for each kind in discovery.",
		Detail:    "Looks for the kinds in x-kubernetes-group-version-kind. All other checks of schemas skip kinds without one.",
		Reference: openAPIV3Text,
		Run: func(p *runner.Probe) {
			whenSettled(p, func() {
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
			})
		},
	}
}

func openAPIPaths() runner.Check {
	return runner.Check{
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
			for path, item := range document.paths {
				paths[pathParameter.ReplaceAllString(path, "{}")] = readSchema(item)
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
	if kind := operation.schema("x-kubernetes-group-version-kind").kind(); kind != kindOf(resource) {
		return fmt.Sprintf("%s: the x-kubernetes-group-version-kind of %s %s is %q, not %q", resource.Name, o.method, path, kind, kindOf(resource))
	}
	return ""
}
