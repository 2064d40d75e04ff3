// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// deleteCollectionWorkers is how many objects of a collection are deleted at once.
const deleteCollectionWorkers = 16

type restOptionsGetter struct {
	store *Store
	codec runtime.Codec
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g restOptionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	options := g.store.options
	config := storagebackend.NewDefaultConfig(g.store.root(), g.codec)
	config.Transport = options.Transport
	config.CompactionInterval = options.CompactionInterval
	config.DBMetricPollInterval = 0 // Another metric says it: see showSize.
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               g.store.decorate,
		DeleteCollectionWorkers: deleteCollectionWorkers,
		EnableGarbageCollection: options.GarbageCollector,
		ResourcePrefix:          resourcePrefix(resource),
	}, nil
}

// root is what the keys of the cluster begin with.
func (s *Store) root() string { return s.options.Prefix + "/" + s.options.Cluster }

// resourcePrefix follows the root in the keys of a resource.
func resourcePrefix(resource schema.GroupResource) string {
	return "/" + resource.Group + "/" + resource.Resource
}

// decorate puts the watch cache before the storage (docs/adr/0012), and the errors that clients get before both.
func (s *Store) decorate(config *storagebackend.ConfigForResource, prefix string, keyOf func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	cached, destroy, err := genericregistry.StorageWithCacher()(config, prefix, keyOf, newFunc, newListFunc, attributes, triggers, indexers)
	if err != nil {
		return nil, nil, explained(err)
	}
	return &resource{Interface: cached, label: config.GroupResource.String(), presence: s.presence}, destroy, nil
}
