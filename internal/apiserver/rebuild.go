// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/docket-project/docket/internal/database"
	"github.com/docket-project/docket/internal/registry"
	"github.com/docket-project/docket/internal/results"
	"github.com/docket-project/docket/internal/store"
)

// RebuildResults makes the result rows and index terms of all reports anew from
// the reports. Servers may go on working meanwhile (on PostgreSQL): an object that
// changes has its rows from that change. report is called now and then with the
// number of finished objects and of all.
func RebuildResults(ctx context.Context, storage *StorageOptions, report func(done, total int64)) (err error) {
	if storage.Cluster == ClusterAuto {
		return fmt.Errorf("--cluster: %q is for servers; give the UID of the cluster's kube-system namespace", ClusterAuto)
	}
	scheme, err := registry.NewScheme()
	if err != nil {
		return err
	}
	opened, err := database.Open(ctx, storage.Database, storage.databaseOptions())
	if err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	reports, err := store.New(ctx, store.Options{Engine: opened, IndexedFields: indexedFields()})
	if err != nil {
		return err
	}
	getter := reports.RESTOptionsGetter(storageCodec(scheme), results.Project)
	groups, err := registry.APIGroups(storage.APIGroups, scheme, getter)
	if err != nil {
		return err
	}
	defer func() {
		for _, group := range groups {
			for _, resources := range group.VersionedResourcesStorageMap {
				for _, resource := range resources {
					resource.Destroy()
				}
			}
		}
	}()
	return reports.RebuildResults(ctx, report)
}
