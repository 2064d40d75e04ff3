// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// CompareDocuments compares what the servers tell about the kinds: discovery in both forms, and
// OpenAPI in both versions without descriptions.
func (r *Runner) CompareDocuments(ctx context.Context, kinds []Kind) ([]Difference, error) {
	var found []Difference
	for _, d := range documents(kinds) {
		request := request{method: http.MethodGet, path: d.path}
		if d.accept != "" {
			request.header = map[string]string{"Accept": d.accept}
		}
		left, right, err := r.both(ctx, request, request)
		if err != nil {
			return nil, err
		}
		if left.Code != http.StatusOK || right.Code != http.StatusOK {
			found = append(found, Difference{AspectDocument, d.path, fmt.Sprint(left.Code), fmt.Sprint(right.Code)})
			continue
		}
		differ := func(path, l, r string) { found = append(found, Difference{AspectDocument, d.path + " " + path, l, r}) }
		compareValues("", inOrderOfText(d.part(left.object())), inOrderOfText(d.part(right.object())), differ)
	}
	return found, nil
}

// inOrderOfText returns a document with lists of words in order: verbs, enumerations and the like
// mean the same in any.
func inOrderOfText(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, nested := range v {
			out[key] = inOrderOfText(nested)
		}
		return out
	case []any:
		out := make([]any, len(v))
		words := true
		for i, item := range v {
			out[i] = inOrderOfText(item)
			_, isWord := item.(string)
			words = words && isWord
		}
		if words {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return out
	default:
		return v
	}
}

// document is one that servers have, and what is compared of it.
type document struct {
	path, accept string
	part         func(map[string]any) any
}

func documents(kinds []Kind) []document {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	groups, versions := map[string]any{}, map[string]any{}
	for _, kind := range kinds {
		groups[kind.Group], versions[kind.APIVersion()] = nil, nil
	}
	all := []document{
		{"/apis", "", func(d map[string]any) any { return named(d["groups"], "name", groups) }},
		{"/apis", aggregated, func(d map[string]any) any { return aggregatedGroups(d, groups) }},
		{"/openapi/v2", "", func(d map[string]any) any {
			return map[string]any{"definitions": schemasOf(d, d["definitions"], groups), "paths": pathsOf(d, versions)}
		}},
	}
	for _, group := range sortedKeys(groups) {
		all = append(all, document{"/apis/" + group, "", func(d map[string]any) any { return d }})
	}
	for _, version := range sortedKeys(versions) {
		all = append(all,
			document{"/apis/" + version, "", func(d map[string]any) any { return byName(d, "resources", "name") }},
			document{"/openapi/v3/apis/" + version, "", func(d map[string]any) any {
				components, _ := d["components"].(map[string]any)
				return map[string]any{"schemas": schemasOf(d, components["schemas"], groups), "paths": pathsOf(d, versions)}
			}})
	}
	return all
}

// named returns the items of a list that have one of the names.
func named(list any, key string, names map[string]any) map[string]any {
	out := map[string]any{}
	items, _ := list.([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		name, _ := object[key].(string)
		if _, wanted := names[name]; wanted || names == nil {
			out[name] = object
		}
	}
	return out
}

// byName returns a copy of an object with a list in it as a map by names, since its order is any.
func byName(object map[string]any, list, key string) map[string]any {
	out := maps.Clone(object)
	out[list] = named(object[list], key, nil)
	return out
}

// aggregatedGroups returns groups of the aggregated discovery.
func aggregatedGroups(d map[string]any, groups map[string]any) any {
	out := map[string]any{}
	items, _ := d["items"].([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if _, wanted := groups[name]; !wanted {
			continue
		}
		versions := map[string]any{}
		for version, v := range named(object["versions"], "version", nil) {
			if one, isObject := v.(map[string]any); isObject {
				resources := named(one["resources"], "resource", nil)
				for name, resource := range resources {
					if r, isResource := resource.(map[string]any); isResource && r["subresources"] != nil {
						resources[name] = byName(r, "subresources", "subresource")
					}
				}
				one = maps.Clone(one)
				one["resources"] = resources
				versions[version] = one
			}
		}
		out[name] = versions
	}
	return out
}

// schemasOf returns the schemas of the kinds of groups by kind, with all references resolved.
func schemasOf(document map[string]any, schemas any, groups map[string]any) any {
	out := map[string]any{}
	all, _ := schemas.(map[string]any)
	for name, value := range all {
		schema, _ := value.(map[string]any)
		gvks, _ := schema["x-kubernetes-group-version-kind"].([]any)
		if len(gvks) != 1 {
			continue
		}
		gvk, _ := gvks[0].(map[string]any)
		group, _ := gvk["group"].(string)
		if _, wanted := groups[group]; wanted {
			resolved := resolve(document, schema, 0)
			out[fmt.Sprintf("%v/%v", gvk["version"], gvk["kind"])] = map[string]any{"name": name, "schema": resolved}
		}
	}
	return out
}

const deepest = 30

// resolve returns a part of a document of OpenAPI with its references replaced by what they lead
// to, and without texts for people.
func resolve(document map[string]any, value any, depth int) any {
	if depth > deepest {
		return "…"
	}
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = resolve(document, item, depth+1)
		}
		return out
	case map[string]any:
		if reference, isReference := v["$ref"].(string); isReference {
			return resolve(document, lookUp(document, reference), depth+1)
		}
		if only, isList := v["allOf"].([]any); isList && len(only) == 1 && len(v) <= 3 {
			return resolve(document, only[0], depth+1) // How a reference is given a description.
		}
		out := map[string]any{}
		for key, nested := range v {
			if _, isText := nested.(string); key == "description" && isText {
				continue
			}
			out[key] = resolve(document, nested, depth+1)
		}
		return out
	default:
		return v
	}
}

// lookUp returns what a reference leads to.
func lookUp(document map[string]any, reference string) any {
	var value any = document
	for _, part := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	if value == nil {
		return reference
	}
	return value
}

// pathsOf returns the paths of group versions with their operations.
func pathsOf(document map[string]any, versions map[string]any) any {
	out := map[string]any{}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		for version := range versions {
			if strings.HasPrefix(path, "/apis/"+version+"/") {
				out[path] = operationsOf(document, item)
			}
		}
	}
	return out
}

// operationsOf returns what matters of the operations of a path.
func operationsOf(document map[string]any, item any) any {
	out := map[string]any{}
	operations, _ := item.(map[string]any)
	for method, value := range operations {
		operation, isOperation := value.(map[string]any)
		if !isOperation {
			out[method] = parameterNames(document, value)
			continue
		}
		responses, _ := operation["responses"].(map[string]any)
		body, _ := operation["requestBody"].(map[string]any)
		content, _ := body["content"].(map[string]any)
		out[method] = map[string]any{
			"operationId": operation["operationId"], "action": operation["x-kubernetes-action"], "kind": operation["x-kubernetes-group-version-kind"],
			"consumes": operation["consumes"], "produces": operation["produces"], "body": sortedKeys(content),
			"responses": sortedKeys(responses), "parameters": parameterNames(document, operation["parameters"]),
		}
	}
	return out
}

func parameterNames(document map[string]any, parameters any) any {
	var names []any
	resolved, _ := resolve(document, parameters, 0).([]any)
	for _, value := range resolved {
		parameter, _ := value.(map[string]any)
		names = append(names, fmt.Sprintf("%v %v", parameter["in"], parameter["name"]))
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return names
}
