// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	_ "embed"
	"fmt"

	"github.com/go-json-experiment/json"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
)

// document has the models by their names. Its references are names, too.
//
//go:embed models.json
var document []byte

// Definitions returns the models of the groups of the core API, and those of the types
// that each API server needs. The models are read at each call, since they are seldom needed and take 3 MB.
func Definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	var models map[string]model
	if err := json.Unmarshal(document, &models); err != nil {
		panic(fmt.Errorf("read the embedded OpenAPI models of Kubernetes' types: %w", err))
	}
	definitions := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name := range models {
		definitions[name] = models[name].definition(ref)
	}
	return definitions
}
