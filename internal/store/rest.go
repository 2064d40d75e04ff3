// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/store/engine"
)

// deleteCollectionWorkers is how many objects of a collection are deleted at
// once: enough for the writer to make batches of.
const deleteCollectionWorkers = 16

// RESTOptionsGetter returns what the generic registry needs to keep resources in this store: objects are encoded as
// JSON with codec, whose internal version must be the stored one, and their result rows made with project, which may be
// nil.
func (s *Store) RESTOptionsGetter(codec runtime.Codec, project Projector) generic.RESTOptionsGetter {
	return &restOptionsGetter{store: s, codec: codec, project: project}
}

// ObjectsGetter returns what the generic registry needs to keep resources of any kind in this store. Objects are
// encoded with codec, unless the request for a resource brings another one, as the server of custom resources does for
// each of their versions.
func (s *Store) ObjectsGetter(codec runtime.Codec) generic.RESTOptionsGetter {
	return s.ProjectedGetter(codec, nil)
}

// ProjectedGetter is ObjectsGetter for objects whose result rows are made with project, which may be nil.
func (s *Store) ProjectedGetter(codec runtime.Codec, project Projector) generic.RESTOptionsGetter {
	return &restOptionsGetter{store: s, codec: codec, project: project, manyVersions: true}
}

type restOptionsGetter struct {
	store        *Store
	codec        runtime.Codec
	project      Projector
	manyVersions bool
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g *restOptionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	prefix := keyPrefix(resource)
	config := storagebackend.NewDefaultConfig(prefix, g.codec)
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               g.decorator(resource),
		DeleteCollectionWorkers: deleteCollectionWorkers,
		EnableGarbageCollection: g.store.options.GarbageCollector,
		ResourcePrefix:          prefix,
	}, nil
}

func (g *restOptionsGetter) decorator(resource schema.GroupResource) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, prefix string, _ func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		return g.store.Resource(ResourceConfig{
			GroupResource: resource, Prefix: prefix, Codec: config.Codec, OneVersion: !g.manyVersions, ManyVersions: g.manyVersions,
			NewFunc: newFunc, NewListFunc: newListFunc, Attributes: attributes, Project: g.project,
		}), func() {}, nil
	}
}

// keyPrefix is where the keys of a resource begin.
func keyPrefix(resource schema.GroupResource) string {
	return "/" + resource.Group + "/" + resource.Resource
}

// StoredAs returns the name that engines have for a resource.
func StoredAs(resource schema.GroupResource) engine.Resource {
	return engine.Resource(keyPrefix(resource) + "/")
}
