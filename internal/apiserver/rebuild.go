// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
)

// RebuildResults makes the result rows and index terms of all reports anew from
// the reports. Servers may go on working meanwhile (on PostgreSQL): an object that
// changes has its rows from that change. report is called now and then with the
// number of finished objects and of all.
func RebuildResults(ctx context.Context, storage *StorageOptions, report func(done, total int64)) (err error) {
	reports, err := OpenReports(ctx, storage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reports.Close()) }()
	return reports.Store.RebuildResults(ctx, report)
}
