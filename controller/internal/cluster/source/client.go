// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns a dynamic client that decodes a list once. That of client-go decodes the whole of it, which it
// throws away, and then each of the objects.
func NewClient(config *rest.Config) (dynamic.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = decoders{config.NegotiatedSerializer}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return dynamic.New(client), nil
}

// decoders are as in a dynamic client, with another one for lists as JSON.
type decoders struct{ runtime.NegotiatedSerializer }

func (d decoders) SupportedMediaTypes() []runtime.SerializerInfo {
	types := slices.Clone(d.NegotiatedSerializer.SupportedMediaTypes())
	for i := range types {
		if types[i].MediaType == runtime.ContentTypeJSON {
			types[i].Serializer = lists{types[i].Serializer}
		}
	}
	return types
}

type lists struct{ runtime.Serializer }

// Decode leaves everything that is no list of objects to the usual decoder, errors included.
func (l lists) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if list, ok := into.(*unstructured.UnstructuredList); ok && decodeList(data, list) {
		kind := list.GroupVersionKind()
		return list, &kind, nil
	}
	return l.Serializer.Decode(data, defaults, into)
}

// decodeList reports whether data are a list of objects, which it has decoded then.
func decodeList(data []byte, list *unstructured.UnstructuredList) bool {
	var content map[string]any
	if json.Unmarshal(data, &content) != nil {
		return false
	}
	items, ok := content["items"].([]any)
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if !ok || kind == "" {
		return false
	}
	decoded := make([]unstructured.Unstructured, len(items))
	for i := range items {
		object, ok := items[i].(map[string]any)
		if !ok {
			return false
		}
		decoded[i].Object = object
		if decoded[i].GetKind() == "" && decoded[i].GetAPIVersion() == "" {
			// The objects in lists of Kubernetes' own kinds don't say what they are.
			decoded[i].SetKind(strings.TrimSuffix(kind, "List"))
			decoded[i].SetAPIVersion(version)
		}
	}
	delete(content, "items")
	list.Object, list.Items = content, decoded
	return true
}
