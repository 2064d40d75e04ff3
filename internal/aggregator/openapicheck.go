// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kindExtension tells which kinds a definition is for. Merging fails altogether, for all
// servers, if one of two definitions of the same name has it wrong.
const kindExtension = "x-kubernetes-group-version-kind"

// documentV2 is what is left of a document of version 2, parsed and as JSON.
type documentV2 struct {
	spec *spec.Swagger
	data []byte
}

// checkV2 cuts a document down to path, and makes sure that it can be merged and served in
// each form. It returns nil if there is nothing of path in it.
func checkV2(data []byte, path string) (document *documentV2, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	defer rescue(&document, &err)
	var parsed spec.Swagger
	if err := parsed.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	if parsed.Paths == nil {
		return nil, nil
	}
	cut := aggregator.FilterSpecByPathsWithoutSideEffects(&parsed, []string{path + "/"})
	if len(cut.Paths.Paths) == 0 {
		return nil, nil
	}
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	for _, definition := range cut.Definitions {
		if kinds, ok := definition.Extensions[kindExtension]; ok && !ownKinds(kinds, group) {
			delete(definition.Extensions, kindExtension)
		}
	}
	if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(&spec.Swagger{}, cut); err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	data, err = cut.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	if _, err := handler.ToProtoBinary(data); err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	return &documentV2{spec: cut, data: data}, nil
}

// ownKinds reports whether a definition is for kinds of group and no other.
func ownKinds(kinds any, group string) bool {
	list, ok := kinds.([]any)
	for _, item := range list {
		kind, isMap := item.(map[string]any)
		ok = ok && isMap && kind["group"] == group
	}
	return ok && len(list) > 0
}

// checkV3 cuts a document down to path, and makes sure that it can be served in each form. It
// returns nil if there is nothing of path in it.
func checkV3(data []byte, path string) (document *spec3.OpenAPI, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	defer rescue(&document, &err)
	var parsed spec3.OpenAPI
	if err := parsed.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("/openapi/v3%s: %w", path, err)
	}
	if parsed.Paths == nil {
		return nil, nil
	}
	for name := range parsed.Paths.Paths {
		if name != path && !strings.HasPrefix(name, path+"/") {
			delete(parsed.Paths.Paths, name)
		}
	}
	if len(parsed.Paths.Paths) == 0 {
		return nil, nil
	}
	data, err = parsed.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("/openapi/v3%s: %w", path, err)
	}
	if _, err := handler3.ToV3ProtoBinary(data); err != nil {
		return nil, fmt.Errorf("/openapi/v3%s: %w", path, err)
	}
	return &parsed, nil
}

// convert makes a document of version 3 for servers that have none, or nil.
func convert(v2 *spec.Swagger) (document *spec3.OpenAPI) {
	var err error
	defer rescue(&document, &err)
	return openapiconv.ConvertV2ToV3(v2)
}

// rescue turns a panic into an error: the libraries were not made for documents from
// elsewhere.
func rescue[T any](document **T, err *error) {
	if problem := recover(); problem != nil {
		*document, *err = nil, fmt.Errorf("the OpenAPI document can't be understood: %v", problem)
	}
}
