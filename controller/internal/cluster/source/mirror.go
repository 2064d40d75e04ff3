// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// MirrorConfig says what a [Mirror] keeps. Only Keep is required.
type MirrorConfig[V comparable] struct {
	// Strip removes from an object what is not kept. It may be called twice for the same object.
	Strip func(object *unstructured.Unstructured)
	// Keep returns the value that is kept for an object, which nobody changes afterwards. before is its
	// current value, zero for a new object; if Keep returns it, the object counts as unchanged.
	Keep func(object *unstructured.Unstructured, before V) (V, error)
	// Index is called for each change, with the lock that [Mirror.View] takes. before is zero for a new
	// object, now for a deleted one.
	Index func(name types.NamespacedName, before, now V)
	// Changed is called without a lock after one or more changes.
	Changed func()
}

// Mirror is a [Store] that keeps a value for each object of a resource. The source alone changes it.
type Mirror[V comparable] struct {
	config MirrorConfig[V]

	mu      sync.RWMutex
	objects map[types.NamespacedName]V
}

// NewMirror returns a mirror without objects.
func NewMirror[V comparable](config MirrorConfig[V]) *Mirror[V] {
	return &Mirror[V]{config: config, objects: map[types.NamespacedName]V{}}
}

// Get returns the value of an object.
func (m *Mirror[V]) Get(name types.NamespacedName) (value V, known bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	value, known = m.objects[name]
	return value, known
}

// All returns the values of all objects.
func (m *Mirror[V]) All() map[types.NamespacedName]V {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.objects)
}

// View calls look with the lock held, so that nothing changes meanwhile.
func (m *Mirror[V]) View(look func()) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	look()
}

// Clear forgets all objects. The source must have been stopped.
func (m *Mirror[V]) Clear() { m.replace(nil) }

// Transformer strips objects while the reflector collects them.
func (m *Mirror[V]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return m.strip(object) }
}

// Update implements [Store].
func (m *Mirror[V]) Update(object any) error {
	name, value, err := m.keep(object)
	if err != nil {
		return err
	}
	m.mu.Lock()
	changed := m.set(name, value)
	m.mu.Unlock()
	m.notify(changed)
	return nil
}

// Delete implements [Store].
func (m *Mirror[V]) Delete(object any) error {
	u, err := asObject(object)
	if err != nil {
		return err
	}
	m.mu.Lock()
	changed := m.remove(nameOf(u))
	m.mu.Unlock()
	m.notify(changed)
	return nil
}

// Replace implements [Store]. If one object can't be kept, all stay as they are.
func (m *Mirror[V]) Replace(objects []any, _ string) error {
	next := make(map[types.NamespacedName]V, len(objects))
	for _, object := range objects {
		name, value, err := m.keep(object)
		if err != nil {
			return err
		}
		next[name] = value
	}
	m.notify(m.replace(next))
	return nil
}

func (m *Mirror[V]) replace(next map[types.NamespacedName]V) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.objects {
		if _, exists := next[name]; !exists {
			changed = m.remove(name) || changed
		}
	}
	for name, value := range next {
		changed = m.set(name, value) || changed
	}
	return changed
}

// set is called with the mutex, as is remove.
func (m *Mirror[V]) set(name types.NamespacedName, now V) (changed bool) {
	before, known := m.objects[name]
	if known && before == now {
		return false
	}
	m.objects[name] = now
	m.index(name, before, now)
	return true
}

func (m *Mirror[V]) remove(name types.NamespacedName) (changed bool) {
	before, known := m.objects[name]
	if !known {
		return false
	}
	delete(m.objects, name)
	var none V
	m.index(name, before, none)
	return true
}

func (m *Mirror[V]) index(name types.NamespacedName, before, now V) {
	if m.config.Index != nil {
		m.config.Index(name, before, now)
	}
}

func (m *Mirror[V]) notify(changed bool) {
	if changed && m.config.Changed != nil {
		m.config.Changed()
	}
}

// keep is called without the mutex: only the source changes values, and it is waiting for this call.
func (m *Mirror[V]) keep(object any) (name types.NamespacedName, now V, err error) {
	u, err := m.strip(object)
	if err != nil {
		return name, now, err
	}
	name = nameOf(u)
	before, _ := m.Get(name)
	now, err = m.config.Keep(u, before)
	return name, now, err
}

func (m *Mirror[V]) strip(object any) (*unstructured.Unstructured, error) {
	u, err := asObject(object)
	if err == nil && m.config.Strip != nil {
		m.config.Strip(u)
	}
	return u, err
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func asObject(object any) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	return nil, fmt.Errorf("watched object of the type %T", object)
}
