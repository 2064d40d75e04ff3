// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/docket-project/docket/internal/plane/core/openapi"
	"github.com/docket-project/docket/internal/plane/core/review"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/reports/openapidoc"
)

// Reviews has what is needed to answer reviews.
type Reviews struct {
	// Authorizer says whether somebody may do something.
	Authorizer authorizer.Authorizer
	// Rules says what somebody may do.
	Rules authorizer.RuleResolver
	// Tokens says whose a token is. If it is nil, no token is valid.
	Tokens authenticator.Token
}

// Prepare sets the serializer and the OpenAPI configuration of a server for the kinds
// of this package. config is a copy that only this server uses.
func Prepare(config *genericapiserver.RecommendedConfig) error {
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	// A scheme without internal versions names the definitions: otherwise these would be
	// published as one more version of each kind.
	versioned, err := newVersionedScheme()
	if err != nil {
		return err
	}
	namer := openapinamer.NewDefinitionNamer(versioned)
	config.Serializer = serializer.NewCodecFactory(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.Definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.Definitions, namer)
	config.SkipOpenAPIInstallation = true // Install does it.
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = "Docket", "Docket"
	return nil
}

// Install makes a server serve /api and the other groups of the core API. Its configuration
// is one that [Prepare] has changed. getter returns the storage of objects that are encoded with a codec,
// which writes JSON. The server destroys the storages.
func Install(server *genericapiserver.GenericAPIServer, config *genericapiserver.RecommendedConfig, getter func(runtime.Codec) generic.RESTOptionsGetter, reviews Reviews) error {
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	codecs := serializer.NewCodecFactory(scheme)
	served, err := newStorages(scheme, getter(codecs.LegacyCodec(storedVersions()...)))
	if err != nil {
		return err
	}
	for version, storage := range review.Storages(reviews.Authorizer, reviews.Rules, reviews.Tokens) {
		served[version] = storage
	}
	var groups []*genericapiserver.APIGroupInfo
	for _, version := range GroupVersions() {
		info := genericapiserver.NewDefaultAPIGroupInfo(version.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
		info.VersionedResourcesStorageMap[version.Version] = served[version.GroupVersion]
		if version.GroupVersion != corev1.SchemeGroupVersion {
			groups = append(groups, &info)
			continue
		}
		if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
			return fmt.Errorf("install the core group: %w", err)
		}
	}
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("install the groups of the core API: %w", err)
	}
	openapidoc.InstallV2(server, openapidoc.RoutesV2(server, config.OpenAPIConfig))
	openapidoc.InstallV3(server, config.OpenAPIV3Config)
	return nil
}

// newStorages opens the storage of each row. On an error nothing stays open.
func newStorages(scheme *runtime.Scheme, getter generic.RESTOptionsGetter) (map[schema.GroupVersion]map[string]rest.Storage, error) {
	rows := resources()
	opened, err := kinds.OpenAll(rows, func(row resource) (*kinds.REST[object], error) {
		return kinds.NewREST(row.Kind, scheme, getter)
	})
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupVersion]map[string]rest.Storage{}
	for i, row := range rows {
		version := row.GroupVersion()
		if served[version] == nil {
			served[version] = map[string]rest.Storage{}
		}
		row.install(served[version], opened[i])
	}
	return served, nil
}

// install adds a resource and its subresources.
func (r resource) install(served map[string]rest.Storage, storage *kinds.REST[object]) {
	served[r.Resource] = storage
	if r.GroupVersionKind == corev1.SchemeGroupVersion.WithKind("Namespace") {
		served[r.Resource], served[r.Resource+"/finalize"] = newNamespaces(storage)
	}
	if r.status {
		served[r.Resource+"/status"] = statusOf(storage)
	}
}
