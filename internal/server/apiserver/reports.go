// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results"
	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

// Reports are the reports in a database, without a server.
type Reports struct {
	// Store keeps the reports.
	Store *store.Store

	opened []*registry.REST
	engine engine.Engine
	stop   context.CancelFunc
	run    errgroup.Group
}

// OpenReports opens a database as a server does. Close must be called. A database
// that only one process may use must not be in use.
func OpenReports(ctx context.Context, storage *StorageOptions) (*Reports, error) {
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
	getter := reports.RESTOptionsGetter(nil, results.Project)
	served, err := registry.Open(registry.KindsOf(storage.APIGroups), func(registry.Kind) generic.RESTOptionsGetter { return getter })
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	r := &Reports{Store: reports, opened: served, engine: opened}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.run.Go(func() error { return reports.Run(runCtx) })
	return r, nil
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
