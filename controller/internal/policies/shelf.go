// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/source"
)

// shelf has all objects of a kind of policies or exceptions. Its source calls it as its store.
type shelf struct {
	kind      schema.GroupKind
	plural    schema.GroupResource
	exception bool
	// changed is called, without a lock, when an object has changed.
	changed func()
	// source is nil while the API doesn't serve the kind. Only the planner uses it.
	source *source.Source

	mu sync.Mutex
	// objects never change: an object that does is another one.
	objects map[types.NamespacedName]*unstructured.Unstructured
}

// newShelves returns those of all kinds in a fixed order.
func newShelves(changed func()) []*shelf {
	var shelves []*shelf
	add := func(kinds map[schema.GroupKind]string, exception bool) {
		for kind, plural := range kinds {
			shelves = append(shelves, &shelf{
				kind: kind, plural: schema.GroupResource{Group: kind.Group, Resource: plural}, exception: exception, changed: changed,
				objects: map[types.NamespacedName]*unstructured.Unstructured{},
			})
		}
	}
	add(policy.Kinds(), false)
	add(policy.ExceptionKinds(), true)
	slices.SortFunc(shelves, func(a, b *shelf) int { return strings.Compare(a.kind.String(), b.kind.String()) })
	return shelves
}

// Transformer has the reflector keep what it collects as small as this store does.
func (s *shelf) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.strip(object) }
}

// strip removes what changes without meaning anything to a policy. It can be called again.
func (s *shelf) strip(object any) (*unstructured.Unstructured, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%s: object of the type %T", s.plural, object)
	}
	u.SetManagedFields(nil)
	u.SetResourceVersion("")
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", policy.LastApplied)
	return u, nil
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Add is called for an object that is new.
func (s *shelf) Add(object any) error { return s.Update(object) }

// Update is called for an object that changed.
func (s *shelf) Update(object any) error {
	u, err := s.strip(object)
	if err != nil {
		return err
	}
	if s.put(u) {
		s.changed()
	}
	return nil
}

func (s *shelf) put(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return put(s.objects, s.objects, u)
}

// put sets in to what before has if that is equal, and returns whether it isn't.
func put(to, before map[types.NamespacedName]*unstructured.Unstructured, u *unstructured.Unstructured) bool {
	name := nameOf(u)
	if known, ok := before[name]; ok && apiequality.Semantic.DeepEqual(known.Object, u.Object) {
		to[name] = known
		return false
	}
	to[name] = u
	return true
}

// Delete is called for an object that is gone.
func (s *shelf) Delete(object any) error {
	u, err := s.strip(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.objects, nameOf(u))
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace is called with all objects, at the start and whenever changes may have been missed.
func (s *shelf) Replace(objects []any, _ string) error {
	list := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		u, err := s.strip(object)
		if err != nil {
			return err
		}
		list = append(list, u)
	}
	if s.replace(list) {
		s.changed()
	}
	s.source.SetListed()
	return nil
}

func (s *shelf) replace(list []*unstructured.Unstructured) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.objects
	s.objects = make(map[types.NamespacedName]*unstructured.Unstructured, len(list))
	changed = len(list) != len(before)
	for _, u := range list {
		changed = put(s.objects, before, u) || changed
	}
	return changed
}

// Resync does nothing.
func (s *shelf) Resync() error { return nil }

// list returns the objects that are not being deleted, by name.
func (s *shelf) list() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*unstructured.Unstructured, 0, len(s.objects))
	for _, name := range slices.SortedFunc(maps.Keys(s.objects), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		if object := s.objects[name]; object.GetDeletionTimestamp() == nil {
			list = append(list, object)
		}
	}
	return list
}

// clear forgets all objects. The source is stopped.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
}
