// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import "k8s.io/client-go/tools/cache"

// Store is filled by a [Source], with one call at a time. It may also have the method Transformer of a
// [cache.TransformingStore], so that objects take no more memory while they are collected.
type Store interface {
	// Update takes an object that is new or has changed.
	Update(object any) error
	// Delete takes an object that is gone.
	Delete(object any) error
	// Replace takes all objects: at the start, and whenever changes may have been missed.
	Replace(objects []any, resourceVersion string) error
}

// reflected adapts a store to a reflector.
type reflected struct {
	Store

	source *Source
}

var _ cache.TransformingStore = reflected{}

// Add implements cache.ReflectorStore.
func (r reflected) Add(object any) error { return r.Update(object) }

// Replace implements cache.ReflectorStore.
func (r reflected) Replace(objects []any, resourceVersion string) error {
	for i, object := range objects {
		if p, ok := object.(*prepared); ok {
			objects[i] = p.object
		}
	}
	if err := r.Store.Replace(objects, resourceVersion); err != nil {
		return err
	}
	r.source.setListed()
	return nil
}

// Resync implements cache.ReflectorStore. None of our reflectors calls it.
func (reflected) Resync() error { return nil }

// Transformer implements cache.TransformingStore.
func (r reflected) Transformer() cache.TransformFunc {
	if store, ok := r.Store.(interface{ Transformer() cache.TransformFunc }); ok {
		return store.Transformer()
	}
	return nil
}
