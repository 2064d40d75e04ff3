// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// questionTimeout bounds what a question may take, so that costly ones end.
const questionTimeout = 20 * time.Second

// Options of the group.
type Options struct {
	// Questions answers from the database.
	Questions engine.Questions
	// Cluster is the name that the database has for the cluster.
	Cluster string
	// Kinds returns the kinds of objects whose results are served. They may change.
	Kinds func() []mapping.Kind
}

// Resources returns the names of the resources of the group.
func Resources() []string {
	var names []string
	for _, served := range storages(nil) {
		names = append(names, served.name())
	}
	return names
}

// HasResults reports whether some kinds have results in namespaces and outside them, which the group could show.
func HasResults(kinds []mapping.Kind) bool {
	in := func(namespaced bool) bool {
		return slices.ContainsFunc(kinds, func(kind mapping.Kind) bool { return kind.Namespaced == namespaced })
	}
	return in(true) && in(false)
}

// APIGroup returns the group, ready for InstallAPIGroup of a generic API server.
func APIGroup(options Options) (*genericapiserver.APIGroupInfo, error) {
	s := &source{questions: newFair(options.Questions), cluster: options.Cluster, served: options.Kinds, timeout: questionTimeout}
	scheme := runtime.NewScheme()
	if err := kinds.AddUnversionedTypes(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, v1alpha1.SchemeGroupVersion)
	storage := map[string]rest.Storage{}
	for _, served := range storages(s) {
		if err := served.register(scheme); err != nil {
			return nil, fmt.Errorf("register %s: %w", served.name(), err)
		}
		storage[served.name()] = served
	}
	if err := scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	info := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, scheme, runtime.NewParameterCodec(scheme), codecs)
	info.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = storage
	return &info, nil
}

// AddOpenAPI returns definitions with those of the group. Models of Kubernetes have the names of their Go types in the
// generated code, and others in documents.
func AddOpenAPI(others common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	const kubernetes = "k8s.io/"
	rename := func(name string) string {
		if strings.HasPrefix(name, kubernetes) {
			return util.ToRESTFriendlyName(name)
		}
		return name
	}
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		definitions := others(ref)
		for name, definition := range GetOpenAPIDefinitions(func(name string) spec.Ref { return ref(rename(name)) }) {
			for i, dependency := range definition.Dependencies {
				definition.Dependencies[i] = rename(dependency)
			}
			definitions[name] = definition
		}
		return definitions
	}
}
