// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ExtraAPIs are API groups that are served beside the reports.
type ExtraAPIs struct {
	Groups []*genericapiserver.APIGroupInfo
	// Definitions of their kinds for OpenAPI, and the scheme that names them.
	Definitions common.GetOpenAPIDefinitions
	Scheme      *runtime.Scheme
}

// AddAPIs adds groups to a configuration that was not completed yet.
func (c *Config) AddAPIs(extra ExtraAPIs) {
	c.extraGroups = append(c.extraGroups, extra.Groups...)
	generic := &c.Generic.Config
	definitions := generic.OpenAPIConfig.GetDefinitions
	both := func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		all := definitions(ref)
		maps.Copy(all, extra.Definitions(ref))
		return all
	}
	nameOf := generic.OpenAPIConfig.GetDefinitionName
	namer := openapinamer.NewDefinitionNamer(extra.Scheme)
	name := func(definition string) (string, spec.Extensions) {
		if found, extensions := nameOf(definition); extensions != nil {
			return found, extensions
		}
		return namer.GetDefinitionName(definition)
	}
	generic.OpenAPIConfig.GetDefinitions, generic.OpenAPIConfig.GetDefinitionName = both, name
	setV3(generic.OpenAPIV3Config, both, name)
}

// setV3 also sets the definitions that the library's default made in advance.
func setV3(config *common.OpenAPIV3Config, definitions common.GetOpenAPIDefinitions, name func(string) (string, spec.Extensions)) {
	config.GetDefinitions, config.GetDefinitionName = definitions, name
	config.Definitions = definitions(func(definition string) spec.Ref {
		found, _ := name(definition)
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(found))
	})
}
