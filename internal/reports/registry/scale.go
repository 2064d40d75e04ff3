// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"io"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/docket-project/docket/internal/reports/document"
)

// newScale returns the library's scale subresource of a kind, on the same objects.
func newScale(kind Kind, optsGetter generic.RESTOptionsGetter) (*scaleREST, error) {
	table, err := tableconvertor.New(scaleColumns())
	if err != nil {
		return nil, err
	}
	library := kind.document.Schema.Library
	strategy := customresource.NewStrategy(unstructuredscheme.NewUnstructuredObjectTyper(), kind.Namespaced, kind.GroupVersionKind,
		library.Validator, nil, library.Structural, library.Subresources.Status, library.Subresources.Scale, nil)
	resource, singular := kind.GroupResource(), schema.GroupResource{Group: kind.GroupVersionKind.Group, Resource: kind.Singular}
	getter := withCodec{optsGetter, unstructuredCodec{kind.Codec(), kind}}
	storage, err := customresource.NewStorage(resource, singular, kind.GroupVersionKind, kind.ListKind(), strategy, getter, nil, table, replicasPaths(kind.definition))
	if err != nil {
		return nil, fmt.Errorf("scale of %s: %w", resource, err)
	}
	return &scaleREST{storage.Scale, table, storage.CustomResource.Destroy}, nil
}

// scaleREST is a subresource that has a storage of its own.
type scaleREST struct {
	*customresource.ScaleREST
	rest.TableConvertor

	destroy func()
}

var _ rest.Patcher = &scaleREST{}

// Destroy implements rest.Storage.
func (s *scaleREST) Destroy() { s.destroy() }

func scaleColumns() []apiextensionsv1.CustomResourceColumnDefinition {
	return []apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
		{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
		ageColumn(),
	}
}

// replicasPaths says where each version of a kind has its replicas: who owns them is kept for scale and object alike.
func replicasPaths(crd *apiextensionsv1.CustomResourceDefinition) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		var path fieldpath.Path
		if version.Subresources != nil && version.Subresources.Scale != nil {
			for name := range strings.SplitSeq(strings.TrimPrefix(version.Subresources.Scale.SpecReplicasPath, "."), ".") {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		paths[crd.Spec.Group+"/"+version.Name] = path
	}
	return paths
}

// unstructuredCodec stores the library's objects as ours.
type unstructuredCodec struct {
	runtime.Codec

	of Kind
}

// Encode implements runtime.Encoder.
func (c unstructuredCodec) Encode(obj runtime.Object, w io.Writer) error {
	ours, err := c.of.Object(obj)
	if err != nil {
		return err
	}
	return c.Codec.Encode(ours, w)
}

// Decode implements runtime.Decoder.
func (c unstructuredCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	ours := document.New(c.of.document)
	_, gvk, err := c.Codec.Decode(data, defaults, ours)
	if err != nil {
		return nil, nil, err
	}
	content, ok := ours.ToUnstructured().(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("a %s is no tree", c.of.GroupVersionKind.Kind)
	}
	tree, ok := into.(*unstructured.Unstructured)
	if !ok {
		tree = &unstructured.Unstructured{}
	}
	tree.Object = content
	return tree, gvk, nil
}
