// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

// Reports are the reports in a database, without a server.
type Reports struct {
	// Store keeps the reports.
	Store *store.Store
	// Definitions are those of other objects in the database.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	opened []*registry.REST
	mapped *mappedRows
	engine engine.Engine
	stop   context.CancelFunc
	run    errgroup.Group
}

// OpenReports opens a database as a server does, for reports and for objects of definitions: those that the database
// has, and others that are added to it. Close must be called. A database that only one process may use must not be in
// use.
func OpenReports(ctx context.Context, storage *StorageOptions, others ...*apiextensionsv1.CustomResourceDefinition) (*Reports, error) {
	if storage.Cluster == ClusterAuto {
		return nil, fmt.Errorf("--cluster: %q is for servers; give the UID of the cluster's kube-system namespace", ClusterAuto)
	}
	opened, err := database.Open(ctx, storage.Database, storage.databaseOptions())
	if err != nil {
		return nil, err
	}
	reports, err := store.New(ctx, store.Options{Engine: opened, IndexedFields: indexedFields()})
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	r := &Reports{Store: reports, engine: opened}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.run.Go(func() error { return reports.Run(runCtx) })
	if err := r.open(ctx, storage, others); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open opens the storages of all kinds.
func (r *Reports) open(ctx context.Context, storage *StorageOptions, others []*crd) error {
	custom := newCustomResources(nil, nil, nil, r.Store)
	if err := custom.readDatabase(ctx); err != nil {
		return err
	}
	for _, d := range others {
		if custom.database[d.Name] != nil {
			continue
		}
		custom.database[d.Name] = d
		if storage.Existing {
			continue // Nothing is written to it.
		}
		if err := custom.put(ctx, d); err != nil {
			return err
		}
	}
	r.Definitions = slices.Collect(maps.Values(custom.database))
	kinds, err := kindsOf(r.Definitions)
	if err != nil {
		return err
	}
	mappings, err := mapping.Load(storage.ResultMappings...)
	if err != nil {
		return fmt.Errorf("--%s: %w", resultMappingsFlag, err)
	}
	r.mapped = newMappedRows(r.Store, mappings, func() []registry.Kind { return kinds }, nil)
	project := results.Projector(mappings)
	reports := r.Store.RESTOptionsGetter(nil, project)
	r.opened, err = registry.Open(slices.Concat(registry.KindsOf(storage.APIGroups), kinds), func(kind registry.Kind) generic.RESTOptionsGetter {
		if kind.Report() {
			return reports
		}
		return objectsOf(r.Store, kind, mappings, project)
	})
	return err
}

// RebuildResults makes all rows again, by the mappings that the database was opened with.
func (r *Reports) RebuildResults(ctx context.Context, progress func(done, total int64)) error {
	if err := r.Store.RebuildResults(ctx, progress); err != nil {
		return err
	}
	made, err := r.mapped.wanted()
	if err != nil {
		return err
	}
	return r.mapped.note(ctx, made)
}

// Storage is where the reports are read and written, below the API.
func (r *Reports) Storage() imports.Storage { return storageOf(r.opened) }

// Close finishes writes under way and closes the database.
func (r *Reports) Close() error {
	r.stop()
	err := r.run.Wait()
	for _, one := range r.opened {
		one.Destroy()
	}
	return errors.Join(err, r.engine.Close())
}
