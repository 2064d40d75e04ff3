// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// showSize makes the library's metric apiserver_storage_size_bytes tell the size of this store's etcd. It is one for
// the process; its other metrics of storage need nothing.
func (s *Store) showSize() {
	metrics.SetStorageMonitorGetter(func() ([]metrics.Monitor, error) { return []metrics.Monitor{sizeMonitor{s}}, nil })
}

// sizeMonitor asks for the size. Why not the library's own: it connects again for each
// scrape, and keeps it waiting for 20 s while etcd is away.
type sizeMonitor struct{ store *Store }

// Monitor implements metrics.Monitor. It asks one member after the other.
func (m sizeMonitor) Monitor(ctx context.Context) (metrics.StorageMetrics, error) {
	if err := m.store.presence.away(); err != nil {
		return metrics.StorageMetrics{}, err
	}
	var errs []error
	for _, endpoint := range m.store.client.Endpoints() {
		status, err := m.store.client.Status(ctx, endpoint)
		if err == nil {
			return metrics.StorageMetrics{Size: status.DbSize}, nil
		}
		errs = append(errs, err)
	}
	return metrics.StorageMetrics{}, errors.Join(errs...)
}

// Close implements metrics.Monitor. The connection belongs to the store.
func (m sizeMonitor) Close() error { return nil }
