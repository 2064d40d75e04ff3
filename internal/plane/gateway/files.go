// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"sigs.k8s.io/yaml"
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
		files, err := manifests(path)
		if err != nil {
			return nil, err
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

// manifests returns path, or the manifests in it if it is a folder.
func manifests(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: has no .yaml, .yml or .json file", path)
	}
	return files, nil
}

func readManifest(path string) (_ []apiregistrationv1.APIService, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("is larger than %d bytes", maxManifest)
	}
	var all []apiregistrationv1.APIService
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) && len(all) == 0 {
			return nil, errors.New("has no APIService; give a file with at least one")
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if content, err := yaml.YAMLToJSON(document); err == nil && string(content) == "null" {
			continue // Only comments.
		}
		service, err := parseRegistration(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		all = append(all, *service)
	}
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
