// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/emicklei/go-restful/v3"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/scale"

	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// group is a served group as its definitions are now. Another one takes its place when they change.
type group struct {
	name  string
	kinds []Kind
	// versions in the order of preference.
	versions   []schema.GroupVersion
	storages   map[schema.GroupVersionResource]*REST
	serializer runtime.NegotiatedSerializer
	types      objectTypes
	container  *restful.Container
	resources  map[string][]apidiscoveryv2.APIResourceDiscovery
	documents  documents
}

// newGroup opens the storages of kinds that are of one group, and makes what serves them. On an error nothing stays
// open.
func newGroup(name string, served []Kind, storage Storage, server *genericapiserver.GenericAPIServer, config *genericapiserver.Config) (*group, error) {
	g := &group{
		name: name, kinds: served, storages: map[schema.GroupVersionResource]*REST{}, resources: map[string][]apidiscoveryv2.APIResourceDiscovery{},
		container: restful.NewContainer(),
	}
	scheme := scale.NewScaleConverter().Scheme() // With the types of the scale subresource.
	if err := kinds.AddUnversionedTypes(scheme); err != nil {
		return nil, err
	}
	for _, kind := range served {
		if gv := kind.GroupVersion(); !slices.Contains(g.versions, gv) {
			g.versions = append(g.versions, gv)
			metav1.AddToGroupVersion(scheme, gv)
		}
	}
	slices.SortFunc(g.versions, func(a, b schema.GroupVersion) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	g.types = newTypes(scheme, served)
	g.serializer = document.NewSerializer(serializer.NewCodecFactory(scheme))
	var err error
	if g.documents, err = newDocuments(served); err != nil {
		return nil, err
	}
	opened, err := Open(served, storage)
	if err != nil {
		return nil, err
	}
	for _, one := range opened {
		g.storages[one.kind.GroupVersionResource()] = one
	}
	if err := g.install(server, config); err != nil {
		g.destroy()
		return nil, err
	}
	return g, nil
}

func (g *group) destroy() {
	for _, storage := range g.storages {
		storage.Destroy()
	}
}

// install fills the container, which is like that of the library's server.
func (g *group) install(server *genericapiserver.GenericAPIServer, config *genericapiserver.Config) error {
	g.container.ServeMux = http.NewServeMux()
	g.container.Router(restful.CurlyRouter{})
	g.container.ServiceErrorHandler(func(err restful.ServiceError, r *restful.Request, w *restful.Response) {
		failure := apierrors.NewGenericServerResponse(err.Code, "", schema.GroupResource{}, "", err.Message, 0, false)
		responsewriters.ErrorNegotiated(failure, g.serializer, schema.GroupVersion{}, w.ResponseWriter, r.Request)
	})
	converter, err := g.typeConverter()
	if err != nil {
		return err
	}
	for _, gv := range g.versions {
		routes := g.routes(gv, server, config)
		routes.TypeConverter = converter
		if g.resources[gv.Version], _, err = routes.InstallREST(g.container); err != nil {
			return fmt.Errorf("install %s: %w", gv, err)
		}
	}
	g.container.Add(discovery.NewAPIGroupHandler(server.Serializer, g.discovery()).WebService())
	return nil
}

// discovery returns the group as discovery documents list it.
func (g *group) discovery() metav1.APIGroup {
	listed := metav1.APIGroup{Name: g.name}
	for _, gv := range g.versions {
		listed.Versions = append(listed.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	listed.PreferredVersion = listed.Versions[0]
	return listed
}

// routes returns the routes of a version as the library makes them in InstallAPIGroups.
func (g *group) routes(gv schema.GroupVersion, server *genericapiserver.GenericAPIServer, config *genericapiserver.Config) *endpoints.APIGroupVersion {
	storages, served := map[string]rest.Storage{}, map[string][]string{}
	for gvr, one := range g.storages {
		served[gvr.Resource] = append(served[gvr.Resource], gvr.GroupVersion().String())
		if gvr.GroupVersion() != gv {
			continue
		}
		storages[gvr.Resource] = one
		for name, part := range one.parts {
			storages[gvr.Resource+"/"+name] = part
		}
	}
	return &endpoints.APIGroupVersion{
		Storage:                     storages,
		Root:                        genericapiserver.APIGroupPrefix,
		GroupVersion:                gv,
		AllServedVersionsByResource: served,
		OptionsExternalVersion:      &schema.GroupVersion{Version: "v1"},
		MetaGroupVersion:            &metav1.SchemeGroupVersion,
		Serializer:                  g.serializer,
		ParameterCodec:              runtime.NewParameterCodec(g.types.Scheme),
		Typer:                       g.types,
		Creater:                     g.types,
		Convertor:                   g.types,
		ConvertabilityChecker:       g.types,
		Defaulter:                   g.types,
		Namer:                       runtime.Namer(meta.NewAccessor()),
		UnsafeConvertor:             g.types,
		EquivalentResourceRegistry:  server.EquivalentResourceRegistry,
		Authorizer:                  server.Authorizer,
		Admit:                       config.AdmissionControl,
		MinRequestTimeout:           time.Duration(config.MinRequestTimeout) * time.Second,
		MaxRequestBodyBytes:         config.MaxRequestBodyBytes,
	}
}
