// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/reports/document"
)

// newTypeConverter returns what reads reports for managed fields. models are those of all kinds
// that are installed.
func newTypeConverter(models map[string]*spec.Schema, installed []Kind) (managedfields.TypeConverter, error) {
	library, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, err
	}
	kinds := make([]runtime.Object, len(installed))
	for i, kind := range installed {
		kinds[i] = kind.New()
	}
	return document.NewTypeConverter(library, kinds...)
}

// convertTypes replaces the routes of groups, which the library has installed, with routes that differ
// only in what reads reports for managed fields: the library offers no way to choose that.
func convertTypes(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config, groups []*genericapiserver.APIGroupInfo) error {
	for _, group := range groups {
		version := group.PrioritizedVersions[0] // Every group has one.
		installed := slices.DeleteFunc(Kinds(), func(kind Kind) bool { return kind.GroupVersion() != version })
		converter, err := newTypeConverter(group.StaticOpenAPISpec, installed)
		if err != nil {
			return err
		}
		routes := routesOf(server, config, group, version)
		routes.TypeConverter = converter
		container := server.Handler.GoRestfulContainer
		root := path.Join(routes.Root, version.Group, version.Version)
		for _, service := range container.RegisteredWebServices() {
			if service.RootPath() != root {
				continue
			}
			if err := container.Remove(service); err != nil {
				return fmt.Errorf("replace the routes of %s: %w", version, err)
			}
		}
		if _, _, err := routes.InstallREST(container); err != nil {
			return fmt.Errorf("replace the routes of %s: %w", version, err)
		}
	}
	return nil
}

// routesOf returns the routes of a version as the library makes them in InstallAPIGroups.
func routesOf(
	server *genericapiserver.GenericAPIServer, config *genericapiserver.Config, group *genericapiserver.APIGroupInfo, version schema.GroupVersion,
) *endpoints.APIGroupVersion {
	served := map[string][]string{}
	for resource := range group.VersionedResourcesStorageMap[version.Version] {
		served[resource] = []string{version.String()}
	}
	return &endpoints.APIGroupVersion{
		Storage:                     group.VersionedResourcesStorageMap[version.Version],
		Root:                        genericapiserver.APIGroupPrefix,
		GroupVersion:                version,
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      group.OptionsExternalVersion,
		MetaGroupVersion:            group.MetaGroupVersion,
		Serializer:                  group.NegotiatedSerializer,
		ParameterCodec:              group.ParameterCodec,
		Typer:                       group.Scheme,
		Creater:                     group.Scheme,
		Convertor:                   group.Scheme,
		ConvertabilityChecker:       group.Scheme,
		Defaulter:                   group.Scheme,
		Namer:                       runtime.Namer(meta.NewAccessor()),
		UnsafeConvertor:             runtime.UnsafeObjectConvertor(group.Scheme),
		EquivalentResourceRegistry:  server.EquivalentResourceRegistry,
		Authorizer:                  server.Authorizer,
		Admit:                       config.AdmissionControl,
		MinRequestTimeout:           time.Duration(config.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes:         config.MaxRequestBodyBytes,
	}
}
