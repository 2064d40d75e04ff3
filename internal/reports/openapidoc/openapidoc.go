// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapidoc publishes the OpenAPI documents of a server in little memory: as the library does it, each
// document stays in memory as a tree of Go values, which takes ten times as much as its JSON. The package keeps no
// state and starts no goroutine.
package openapidoc

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// RoutesV2 is the document of version 2 of a server's routes. It is made when somebody asks for it, which many clients
// never do.
func RoutesV2(server *genericapiserver.GenericAPIServer, config *common.Config) cached.Value[*spec.Swagger] {
	return Once(func() (*spec.Swagger, error) {
		services := restfuladapter.AdaptWebServices(server.Handler.GoRestfulContainer.RegisteredWebServices())
		document, err := builder.BuildOpenAPISpecFromRoutes(services, config)
		if err != nil {
			return nil, err
		}
		document.Definitions = handler.PruneDefaults(document.Definitions)
		return document, nil
	})
}

// Once is a document of version 2 that is made when somebody asks for it.
func Once(build func() (*spec.Swagger, error)) cached.Value[*spec.Swagger] {
	etag := string(uuid.NewUUID())
	return cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := build()
		return document, etag, err
	}))
}

// InstallV2 publishes a document at /openapi/v2.
func InstallV2(server *genericapiserver.GenericAPIServer, document cached.Value[*spec.Swagger]) *handler.OpenAPIService {
	service := handler.NewOpenAPIServiceLazy(document)
	service.RegisterOpenAPIVersionedService("/openapi/v2", server.Handler.NonGoRestfulMux)
	return service
}

// InstallV3 publishes the documents of a server's routes below /openapi/v3.
func InstallV3(server *genericapiserver.GenericAPIServer, config *common.OpenAPIV3Config) *handler3.OpenAPIService {
	shrink := Collect(config)
	service := routes.OpenAPI{V3Config: config}.InstallV3(server.Handler.GoRestfulContainer, server.Handler.NonGoRestfulMux)
	shrink(service)
	return service
}

// Collect notes the documents that are made with config until shrink is called with the service that publishes them,
// which then keeps only their JSON.
func Collect(config *common.OpenAPIV3Config) (shrink func(*handler3.OpenAPIService)) {
	var documents []*spec3.OpenAPI
	config.PostProcessSpec = func(document *spec3.OpenAPI) (*spec3.OpenAPI, error) {
		documents = append(documents, document)
		return document, nil
	}
	return func(service *handler3.OpenAPIService) {
		config.PostProcessSpec = nil
		config.Definitions = nil // The library makes them again when it needs them.
		KeepJSON(service, documents...)
	}
}

// KeepJSON makes a service encode the documents that it was given, and empties them: from then on it only needs the
// JSON. They stay as they are if a document can't be encoded, so that each request finds the error.
func KeepJSON(service *handler3.OpenAPIService, documents ...*spec3.OpenAPI) {
	answer := &status{code: http.StatusOK}
	service.HandleDiscovery(answer, &http.Request{Method: http.MethodHead, URL: &url.URL{}}) // It has the hash of each.
	if answer.code != http.StatusOK {
		return
	}
	for _, document := range documents {
		*document = spec3.OpenAPI{}
	}
}

// status is an http.ResponseWriter that keeps only the status.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

func (s *status) Write(data []byte) (int, error) { return len(data), nil }

func (s *status) WriteHeader(code int) { s.code = code }
