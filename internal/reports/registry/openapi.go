// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/reports/document"
)

// documents are the OpenAPI documents of a group, as kube-apiserver makes them of definitions.
type documents struct {
	v2 []*spec.Swagger
	// v3 are those of each version, by its path.
	v3 map[string]*spec3.OpenAPI
}

func newDocuments(served []Kind) (documents, error) {
	parts := map[string][]*spec3.OpenAPI{}
	d := documents{v3: map[string]*spec3.OpenAPI{}}
	for _, kind := range served {
		gv := kind.GroupVersion()
		v2, err := builder.BuildOpenAPIV2(kind.definition, gv.Version, builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			return d, fmt.Errorf("OpenAPI of %s: %w", kind.GroupResource(), err)
		}
		v3, err := builder.BuildOpenAPIV3(kind.definition, gv.Version, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return d, fmt.Errorf("OpenAPI of %s: %w", kind.GroupResource(), err)
		}
		v2.Definitions = handler.PruneDefaults(v2.Definitions)
		d.v2 = append(d.v2, v2)
		path := "apis/" + gv.String()
		parts[path] = append(parts[path], v3)
	}
	for path, of := range parts {
		merged, err := builder.MergeSpecsV3(of...)
		if err != nil {
			return d, err
		}
		d.v3[path] = merged
	}
	return d, nil
}

// typeConverter returns what reads objects of the group for managed fields.
func (g *group) typeConverter() (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	for _, of := range g.documents.v3 {
		for name, model := range of.Components.Schemas {
			models[name] = model
		}
	}
	library, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, err
	}
	empty := make([]runtime.Object, len(g.kinds))
	for i, kind := range g.kinds {
		empty[i] = kind.New()
	}
	return document.NewTypeConverter(library, empty...)
}

// openAPI publishes the documents of a server: those of its routes, and of groups that may change.
type openAPI struct {
	static *spec.Swagger
	v2     *handler.OpenAPIService
	v3     *handler3.OpenAPIService
	// paths are those of groups that are published.
	paths []string
}

func newOpenAPI(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config) *openAPI {
	o := &openAPI{}
	install := routes.OpenAPI{Config: config.OpenAPIConfig, V3Config: config.OpenAPIV3Config}
	if config.OpenAPIConfig != nil {
		o.v2, o.static = install.InstallV2(server.Handler.GoRestfulContainer, server.Handler.NonGoRestfulMux)
	}
	if config.OpenAPIV3Config != nil {
		o.v3 = install.InstallV3(server.Handler.GoRestfulContainer, server.Handler.NonGoRestfulMux)
	}
	return o
}

// set publishes the documents of all groups.
func (o *openAPI) set(groups []documents) error {
	var v2 []*spec.Swagger
	var paths []string
	for _, of := range groups {
		v2 = append(v2, of.v2...)
		for path, document := range of.v3 {
			paths = append(paths, path)
			if o.v3 != nil {
				o.v3.UpdateGroupVersion(path, document)
			}
		}
	}
	for _, path := range o.paths {
		if !slices.Contains(paths, path) && o.v3 != nil {
			o.v3.DeleteGroupVersion(path)
		}
	}
	o.paths = paths
	if o.v2 == nil {
		return nil
	}
	merged, err := builder.MergeSpecs(o.static, v2...)
	if err != nil {
		return fmt.Errorf("OpenAPI v2: %w", err)
	}
	return o.v2.UpdateSpec(merged)
}
