// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/docket-project/docket/internal/reports/openapidoc"
)

// newNotFound returns the end of the chain. Until everything is known to be served it
// answers 503 rather than 404: controllers act on a 404.
func newNotFound(config *genericapiserver.RecommendedConfig) genericapiserver.DelegationTarget {
	return genericapiserver.NewEmptyDelegateWithCustomHandler(
		notfoundhandler.New(config.Serializer, genericfilters.NoMuxAndDiscoveryIncompleteKey))
}

// newCustom returns the server of CustomResourceDefinitions and of their objects, and what to call with its OpenAPI
// documents.
func newCustom(config *genericapiserver.RecommendedConfig, storage func(runtime.Codec) generic.RESTOptionsGetter, next genericapiserver.DelegationTarget) (*apiextensionsserver.CustomResourceDefinitions, func(*handler3.OpenAPIService), error) {
	config.Serializer = apiextensionsserver.Codecs
	config.RESTOptionsGetter = storage(apiextensionsserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	config.MergedResourceConfig = apiextensionsserver.DefaultAPIResourceConfigSource()
	namer := openapinamer.NewDefinitionNamer(apiextensionsserver.Scheme, clientscheme.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(apiextensionsopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(apiextensionsopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = "Docket", "Docket"
	shrink := openapidoc.Collect(config.OpenAPIV3Config)
	complete := (&apiextensionsserver.Config{
		GenericConfig: config,
		ExtraConfig: apiextensionsserver.ExtraConfig{
			CRDRESTOptionsGetter: storage(unstructured.UnstructuredJSONScheme),
			MasterCount:          1,
			ServiceResolver:      webhook.NewDefaultServiceResolver(),
			AuthResolverWrapper:  webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, config.TracerProvider),
		},
	}).Complete()
	server, err := complete.New(next)
	return server, shrink, err
}
