// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/manifests"
)

const (
	// maxManifest bounds a file of registrations.
	maxManifest = 4 << 20
	// fieldManager owns what the files say.
	fieldManager = "docket-gateway"
)

// readRegistrations returns the APIServices in files and in the YAML and JSON files of
// folders. Errors name the file and the field.
func readRegistrations(paths []string) ([]apiregistrationv1.APIService, error) {
	var all []apiregistrationv1.APIService
	for _, path := range paths {
		files, err := manifests.Find(path)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: has no .yaml, .yml or .json file", path)
		}
		for _, file := range files {
			found, err := readManifest(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func readManifest(path string) ([]apiregistrationv1.APIService, error) {
	data, err := manifests.Read(path, maxManifest)
	if err != nil {
		return nil, err
	}
	var all []apiregistrationv1.APIService
	err = manifests.Documents(data, func(place string, document []byte) error {
		service, err := parseRegistration(document)
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		all = append(all, *service)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = errors.New("has no APIService; give a file with at least one")
	}
	return all, err
}

func parseRegistration(document []byte) (*apiregistrationv1.APIService, error) {
	service := &apiregistrationv1.APIService{}
	if err := yaml.UnmarshalStrict(document, service); err != nil {
		return nil, err
	}
	if service.Kind != "APIService" || service.APIVersion != apiregistrationv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("kind: is %q of %q; give APIService of %q", service.Kind, service.APIVersion, apiregistrationv1.SchemeGroupVersion)
	}
	if service.Spec.Service == nil {
		return nil, errors.New("spec.service: is required: an APIService without a service registers no server")
	}
	// The defaults of the API, which validation expects.
	full := service.DeepCopy()
	aggregatorscheme.Scheme.Default(full)
	internal := &apiregistration.APIService{}
	if err := aggregatorscheme.Scheme.Convert(full, internal, nil); err != nil {
		return nil, err
	}
	if err := validation.ValidateAPIService(internal).ToAggregate(); err != nil {
		return nil, err
	}
	return service, nil
}

// register makes what the server has be what the files say.
func register(ctx context.Context, client dynamic.Interface, services []apiregistrationv1.APIService) error {
	resource := client.Resource(apiregistrationv1.SchemeGroupVersion.WithResource("apiservices"))
	for i := range services {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&services[i])
		if err != nil {
			return err
		}
		delete(content, "status")
		object := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		if _, err := resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
			return fmt.Errorf("--apiservice: register %s: %w", object.GetName(), err)
		}
	}
	return nil
}
