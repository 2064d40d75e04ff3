// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/etcdstore"
)

// backend is where a server keeps reports.
type backend interface {
	// RESTOptionsGetter returns what the registry needs to keep resources there. The registry brings the codec.
	RESTOptionsGetter() generic.RESTOptionsGetter
	// ObjectsGetter is the same for objects of any kind, encoded with codec.
	ObjectsGetter(codec runtime.Codec) generic.RESTOptionsGetter
	// Namespaces returns the namespaces in which namespaced resources have objects.
	Namespaces(ctx context.Context, resources []schema.GroupResource) ([]string, error)
	// Ready returns nil when reports can be read and written now.
	Ready(ctx context.Context) error
	// Run works until ctx ends.
	Run(ctx context.Context) error
	// Close is called once, when nothing else runs any more.
	Close() error
}

// openBackend opens the database that the URL names.
func (c CompletedConfig) openBackend(ctx context.Context) (backend, error) {
	if database.IsEtcd(c.DatabaseURL) {
		return c.openEtcd(ctx)
	}
	opened, err := database.Open(ctx, c.DatabaseURL, c.Database)
	if err != nil {
		return nil, fmt.Errorf("--database: %w", err)
	}
	options := c.Store
	options.Engine = opened
	options.IndexedFields = indexedFields()
	reports, err := store.New(ctx, options)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &sqlBackend{
		Store: reports, database: opened, getter: reports.RESTOptionsGetter(nil, c.projector()),
	}, nil
}

// sqlBackend is the store on a SQL engine.
type sqlBackend struct {
	*store.Store

	database database.Database
	getter   generic.RESTOptionsGetter
}

// RESTOptionsGetter implements backend.
func (b *sqlBackend) RESTOptionsGetter() generic.RESTOptionsGetter { return b.getter }

// Close implements backend.
func (b *sqlBackend) Close() error { return b.database.Close() }

// storeOf returns the store on a SQL engine, nil for other backends.
func storeOf(opened backend) *store.Store {
	if b, ok := opened.(*sqlBackend); ok {
		return b.Store
	}
	return nil
}

func (c CompletedConfig) openEtcd(ctx context.Context) (backend, error) {
	options, err := c.etcdOptions()
	if err != nil {
		return nil, err
	}
	opened, err := etcdstore.Open(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("--database: %w", err)
	}
	return etcdBackend{opened}, nil
}

func (c *Config) etcdOptions() (etcdstore.Options, error) {
	place, err := database.ParseEtcd(c.DatabaseURL)
	if err != nil {
		return etcdstore.Options{}, fmt.Errorf("--database: %w", err)
	}
	if err := etcdstore.ValidateCluster(c.Database.Cluster); err != nil {
		return etcdstore.Options{}, fmt.Errorf("--cluster: %w", err)
	}
	return etcdstore.Options{
		Transport: storagebackend.TransportConfig{
			ServerList:    place.Endpoints,
			TrustedCAFile: place.CAFile, CertFile: place.CertFile, KeyFile: place.KeyFile,
			TracerProvider: c.Generic.TracerProvider,
		},
		Prefix: place.Prefix, Cluster: c.Database.Cluster,
		CompactionInterval: place.CompactionInterval,
		ConnectTimeout:     c.Database.ConnectTimeout, Waiting: c.Database.Waiting,
		GarbageCollector: c.Store.GarbageCollector,
	}, nil
}

// etcdBackend is the store on etcd.
type etcdBackend struct{ *etcdstore.Store }
