// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// staticWorld is a world of resources that are given.
type staticWorld struct {
	resources []served.Resource
	objects   map[schema.GroupVersionKind][]*unstructured.Unstructured
}

// newStaticWorld guesses the plurals of kinds as kubectl does without a cluster.
func newStaticWorld(objects []*unstructured.Unstructured) *staticWorld {
	w := &staticWorld{objects: map[schema.GroupVersionKind][]*unstructured.Unstructured{}}
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		w.objects[gvk] = append(w.objects[gvk], object)
	}
	for gvk, list := range w.objects {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		namespaced := slices.ContainsFunc(list, func(o *unstructured.Unstructured) bool { return o.GetNamespace() != "" })
		w.resources = append(w.resources, served.Resource{
			GroupVersionResource: plural, Kind: gvk.Kind, Namespaced: namespaced, Watchable: true,
		})
	}
	slices.SortFunc(w.resources, func(a, b served.Resource) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return w
}

// Resources implements world.
func (w *staticWorld) Resources() []served.Resource { return w.resources }

// ShortNames implements world: nobody has said which there are.
func (w *staticWorld) ShortNames(schema.GroupVersionResource) []string { return nil }

// Failed implements world.
func (w *staticWorld) Failed() map[schema.GroupVersion]error { return nil }

// selection returns what a path names, whether there is any or not.
func (w *staticWorld) selection(p *apiPath) selection {
	if found, ok := findPath(w, p); ok {
		return found
	}
	return selection{
		resource:  served.Resource{GroupVersionResource: p.resource},
		namespace: p.namespace, labels: p.labels, fields: p.fields, name: p.name,
	}
}

// data returns the objects of a selection, or the one object.
func (w *staticWorld) data(engine *table.Engine, s selection) (data, error) {
	matches, err := s.matcher()
	if err != nil {
		return nil, err
	}
	filter := engine.Filter(s.filter)
	var list []*table.Packed
	for _, object := range w.objects[s.resource.GVK()] {
		if !matches(object) {
			continue
		}
		packed, err := filter.Pack(object)
		if err != nil {
			return nil, err
		}
		if s.name != "" {
			text, err := json.Marshal(object.Object)
			if err != nil {
				return nil, fmt.Errorf("pack %s: %w", s, err)
			}
			document, err := table.NewDocument(engine, text)
			return documentData{document}, err
		}
		if !packed.Dropped() {
			list = append(list, packed)
		}
	}
	if s.name != "" {
		return nil, apierrors.NewNotFound(s.resource.GroupResource(), s.name)
	}
	all := table.NewTable(engine, table.Header{
		APIVersion: s.resource.GroupVersion().String(), Kind: s.resource.Kind, Plural: s.resource.Resource,
	})
	all.Replace(list, "")
	return all, nil
}

// matcher tells which objects belong to a selection.
func (s selection) matcher() (func(*unstructured.Unstructured) bool, error) {
	byLabels, err := labels.Parse(s.labels)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	byFields, err := fields.ParseSelector(s.fields)
	if err != nil {
		return nil, fmt.Errorf("fieldSelector: %w", err)
	}
	for _, requirement := range byFields.Requirements() {
		if requirement.Field != "metadata.name" && requirement.Field != "metadata.namespace" {
			return nil, fmt.Errorf("fieldSelector: %s needs a cluster to ask", requirement.Field)
		}
	}
	return func(o *unstructured.Unstructured) bool {
		return (s.namespace == "" || o.GetNamespace() == s.namespace) && (s.name == "" || o.GetName() == s.name) &&
			byLabels.Matches(labels.Set(o.GetLabels())) &&
			byFields.Matches(fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()})
	}, nil
}
