// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/migrate/reportsserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// servedBy is an annotation that reports-server adds to every report. Once the report is
// in Docket it is wrong.
const servedBy = "kyverno.reports-server.io/served-by"

// ReportsServer copies the reports of a cluster from the tables of reports-server.
type ReportsServer struct {
	Copy

	// URL of its database.
	URL string
	// Cluster is the ID of the cluster, for a database with several.
	Cluster string
}

// ToDatabase copies into a database that this process has opened.
func (r ReportsServer) ToDatabase(ctx context.Context, to Place) error {
	return r.with(ctx, func(from reader) error { return r.toPlace(ctx, from, to) })
}

// ToServer copies into a running server. Reports that clients have changed there
// since an earlier copy are left alone.
func (r ReportsServer) ToServer(ctx context.Context, docket *rest.Config) error {
	return r.with(ctx, func(from reader) error { return r.toServer(ctx, from, docket) })
}

// with opens the tables and chooses the cluster.
func (r ReportsServer) with(ctx context.Context, f func(reader) error) (err error) {
	tables, err := reportsserver.Open(ctx, r.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tables.Close(context.WithoutCancel(ctx))) }()
	clusters, err := tables.Clusters(ctx)
	if err != nil {
		return err
	}
	cluster := r.Cluster
	switch {
	case cluster == "" && len(clusters) > 1:
		return fmt.Errorf("the database has reports of several clusters: choose with --source-cluster one of %s "+
			"(the UID of the cluster's kube-system namespace)", strings.Join(clusters, ", "))
	case cluster == "" && len(clusters) == 1:
		cluster = clusters[0]
	case cluster != "" && !slices.Contains(clusters, cluster):
		return fmt.Errorf("the database has no reports of cluster %s; it has reports of %s", cluster, strings.Join(clusters, ", "))
	}
	return f(tableReader{tables, cluster})
}

// tableReader reads the tables of reports-server. They can't be watched.
type tableReader struct {
	tables  *reportsserver.Tables
	cluster string
}

func (s tableReader) list(ctx context.Context, kind imports.Kind, _ bool, _ *string) entries {
	return func(yield func(*entry, error) bool) {
		for row, err := range s.tables.Reports(ctx, kind.Resource, s.cluster) {
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := rowEntry(row)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (s tableReader) get(ctx context.Context, kind imports.Kind, namespace, name string) (*entry, error) {
	row, ok, err := s.tables.Get(ctx, kind.Resource, s.cluster, namespace, name)
	if err != nil || !ok {
		return nil, err
	}
	return rowEntry(row)
}

// rowEntry returns the entry of a row. Its namespace and name come from the columns. It
// has no resource version, because reports-server gives several reports the same one.
func rowEntry(row reportsserver.Report) (*entry, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(row.Object, &object); err != nil {
		return nil, fmt.Errorf("report %s/%s: %w", row.Namespace, row.Name, err)
	}
	metadata := map[string]any{}
	if len(object["metadata"]) > 0 {
		if err := json.Unmarshal(object["metadata"], &metadata); err != nil {
			return nil, fmt.Errorf("metadata of report %s/%s: %w", row.Namespace, row.Name, err)
		}
	}
	delete(metadata, "resourceVersion")
	metadata["name"] = row.Name
	if row.Namespace != "" {
		metadata["namespace"] = row.Namespace
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, servedBy)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	var err error
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return parseEntry(data, true)
}
