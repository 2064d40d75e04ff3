// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/openapidoc"
)

// documents are the OpenAPI documents of a group, as kube-apiserver makes them of definitions.
type documents struct {
	v2 func() ([]*spec.Swagger, error)
	// v3 are those of each version, by its path.
	v3 map[string]*spec3.OpenAPI
}

func newDocuments(served []Kind) (documents, error) {
	parts := map[string][]*spec3.OpenAPI{}
	d := documents{v3: map[string]*spec3.OpenAPI{}, v2: func() ([]*spec.Swagger, error) { return documentsV2(served) }}
	for _, kind := range served {
		gv := kind.GroupVersion()
		v3, err := builder.BuildOpenAPIV3(kind.definition, gv.Version, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return d, fmt.Errorf("OpenAPI of %s: %w", kind.GroupResource(), err)
		}
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

func documentsV2(served []Kind) (all []*spec.Swagger, err error) {
	for _, kind := range served {
		document, err := builder.BuildOpenAPIV2(kind.definition, kind.GroupVersion().Version, builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			return nil, fmt.Errorf("OpenAPI of %s: %w", kind.GroupResource(), err)
		}
		document.Definitions = handler.PruneDefaults(document.Definitions)
		all = append(all, document)
	}
	return all, nil
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
	static cached.Value[*spec.Swagger]
	v2     *handler.OpenAPIService
	v3     *handler3.OpenAPIService
	// published are the documents of groups, by their paths.
	published map[string]*spec3.OpenAPI
}

func newOpenAPI(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config) *openAPI {
	o := &openAPI{}
	if config.OpenAPIConfig != nil {
		o.static = openapidoc.RoutesV2(server, config.OpenAPIConfig)
		o.v2 = openapidoc.InstallV2(server, o.static)
	}
	if config.OpenAPIV3Config != nil {
		o.v3 = openapidoc.InstallV3(server, config.OpenAPIV3Config)
	}
	return o
}

// set publishes the documents of all groups.
func (o *openAPI) set(groups []documents) {
	published := map[string]*spec3.OpenAPI{}
	var fresh []*spec3.OpenAPI
	for _, of := range groups {
		maps.Copy(published, of.v3)
	}
	if o.v3 != nil {
		for path, document := range published {
			if o.published[path] != document {
				o.v3.UpdateGroupVersion(path, document)
				fresh = append(fresh, document)
			}
		}
		for path := range o.published {
			if published[path] == nil {
				o.v3.DeleteGroupVersion(path)
			}
		}
		openapidoc.KeepJSON(o.v3, fresh...)
	}
	o.published = published
	if o.v2 != nil {
		o.v2.UpdateSpecLazy(openapidoc.Once(func() (*spec.Swagger, error) { return o.merged(groups) }))
	}
}

// merged is the document of version 2 of everything.
func (o *openAPI) merged(groups []documents) (*spec.Swagger, error) {
	static, _, err := o.static.Get()
	if err != nil {
		return nil, err
	}
	var all []*spec.Swagger
	for _, of := range groups {
		documents, err := of.v2()
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return builder.MergeSpecs(static, all...)
}
