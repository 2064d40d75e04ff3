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

const (
	// kindExtension tells which kinds a definition is for.
	kindExtension = "x-kubernetes-group-version-kind"
	// marker is on each definition of an extension server in the merged document of version 2.
	marker = "x-docket-extension-server"
)

// documentV2 is a document of version 2, cut down to one path: decoded, and as JSON to be merged.
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
	merged := *cut
	merged.Definitions = marked(cut.Definitions)
	if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(&spec.Swagger{}, &merged); err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	data, err = merged.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	if _, err := handler.ToProtoBinary(data); err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	return &documentV2{spec: cut, data: data}, nil
}

// marked returns definitions without kinds and with marker. The library merges the kinds of equal
// definitions of two servers: it fails for all servers if one has them wrong, and ends the process
// if only one has them. No definition is equal to one of this process any more, and none has kinds.
func marked(definitions spec.Definitions) spec.Definitions {
	result := make(spec.Definitions, len(definitions))
	for name, definition := range definitions {
		extensions := spec.Extensions{marker: true}
		for key, value := range definition.Extensions {
			if !strings.EqualFold(key, kindExtension) {
				extensions[key] = value
			}
		}
		definition.Extensions = extensions
		result[name] = definition
	}
	return result
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

// convert makes a document of version 3 for servers that have none.
func convert(v2 *spec.Swagger, path string) (document *spec3.OpenAPI, err error) {
	defer rescue(&document, &err)
	data, err := openapiconv.ConvertV2ToV3(v2).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("/openapi/v2: %w", err)
	}
	return checkV3(data, path)
}

// rescue turns a panic into an error: the libraries were not made for documents from
// elsewhere.
func rescue[T any](document **T, err *error) {
	if problem := recover(); problem != nil {
		*document, *err = nil, fmt.Errorf("the OpenAPI document can't be understood: %v", problem)
	}
}
