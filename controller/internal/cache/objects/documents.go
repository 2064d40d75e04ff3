// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// Documents are the source of a scan of files: the objects in them are all there are. They never change.
type Documents struct {
	kinds   *served.Catalog
	objects map[schema.GroupVersionKind][]*unstructured.Unstructured
}

var _ Source = (*Documents)(nil)

// NewDocuments returns the source of objects. It guesses the plurals of their kinds as kubectl does without a cluster.
func NewDocuments(objects []*unstructured.Unstructured) *Documents {
	d := &Documents{objects: map[schema.GroupVersionKind][]*unstructured.Unstructured{}}
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		d.objects[gvk] = append(d.objects[gvk], object)
	}
	resources := make([]served.Resource, 0, len(d.objects))
	for gvk, list := range d.objects {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		namespaced := slices.ContainsFunc(list, func(o *unstructured.Unstructured) bool { return o.GetNamespace() != "" })
		resources = append(resources, served.Resource{
			GroupVersionResource: plural, Kind: gvk.Kind, Namespaced: namespaced, Listable: true, Watchable: true,
		})
	}
	slices.SortFunc(resources, func(a, b served.Resource) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	d.kinds = served.CatalogOf(resources)
	return d
}

// Kinds implements [Source].
func (d *Documents) Kinds() *served.Catalog { return d.kinds }

// List returns the objects of a selection, its filter apart. Nobody may change them. A kind that no document has has
// no objects.
func (d *Documents) List(of Selection) ([]*unstructured.Unstructured, error) {
	matches, err := of.matcher()
	if err != nil {
		return nil, err
	}
	var list []*unstructured.Unstructured
	for _, object := range d.objects[of.Resource.GVK()] {
		if matches(object) {
			list = append(list, object)
		}
	}
	return list, nil
}

// Feed implements [Source]. The sink has all objects when it returns.
func (d *Documents) Feed(_ context.Context, of Selection, into Sink) Worker {
	list, err := d.List(of)
	if err == nil {
		objects := make([]any, len(list))
		for i, object := range list {
			objects[i] = object
		}
		err = into.Replace(objects, "")
	}
	into.Changed(err)
	return fed{}
}

// fed is the worker of a sink that has all there will be.
type fed struct{}

// Decided implements [Worker].
func (fed) Decided() bool { return true }

// Stop implements [Worker].
func (fed) Stop() {}
