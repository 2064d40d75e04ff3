// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

// unknownRelation is of no table.
const unknownRelation = -1

// Replaced tells a database that it was put there by means that it can't notice, such as a snapshot of its
// volume: the revisions of all clusters leap ahead when servers connect next. None may run. Cluster and
// Existing of the options are not used.
func Replaced(ctx context.Context, options Options) (err error) {
	options.Cluster = "any"
	config, err := options.connConfig()
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("open database %s: %w", address(config), classify(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('docket.revision') IS NOT NULL").Scan(&there); err != nil {
		return fmt.Errorf("open database %s: %w", address(config), classify(err))
	}
	if !there {
		return fmt.Errorf("open database %s: %w: it has no tables of Docket", address(config), engine.ErrMissing)
	}
	if _, err := conn.Exec(ctx, "UPDATE docket.revision SET relation = $1", int64(unknownRelation)); err != nil {
		return fmt.Errorf("change database %s: %w", address(config), classify(err))
	}
	return nil
}
