// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
)

// TableBytes returns the sizes of tables and indexes for benchmarks.
func (e *Engine) TableBytes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := e.borrow(ctx, func(c *conn) error {
		return c.query(ctx, func(row []driver.Value) error {
			sizes[text(row[0])] = row[1].(int64)
			return nil
		}, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
	})
	return sizes, err
}

// Exec runs SQL on a file that no engine has open.
func Exec(t testing.TB, path, query string) {
	t.Helper()
	c, err := connect(path)
	if err == nil {
		_, err = c.exec(query)
		err = errors.Join(err, c.close())
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
