// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// What databases that talk like PostgreSQL lack.
const (
	lackLog     = "a write-ahead log whose timeline tells a database that was restored or failed over, in which revisions must leap"
	lackListen  = "LISTEN"
	lackLocks   = "advisory locks that keep others out"
	lackRows    = "row locks that make writers wait for each other in the order of their commits"
	lackIndexes = "GIN indexes"
)

// lookAlikes are databases that talk like PostgreSQL: what version() of each has in it, and what it lacks.
func lookAlikes() []struct{ mark, name, lacks string } {
	return []struct{ mark, name, lacks string }{
		{"CockroachDB", "CockroachDB", lackListen + ", and " + lackLog},
		{"-YB-", "YugabyteDB", lackLog},
		{"Redshift", "Amazon Redshift", lackRows},
		{"RisingWave", "RisingWave", lackRows},
		{"Materialize", "Materialize", lackRows},
		{"CrateDB", "CrateDB", lackRows},
	}
}

// lookAlike returns the name of what is not PostgreSQL, and what it lacks, as far as that is known; "" for PostgreSQL.
func lookAlike(version string) (name, lacks string) {
	for _, other := range lookAlikes() {
		if strings.Contains(strings.ToLower(version), strings.ToLower(other.mark)) {
			return other.name, other.lacks
		}
	}
	if !strings.HasPrefix(version, "PostgreSQL ") && !strings.HasPrefix(version, "EnterpriseDB ") {
		return version, ""
	}
	return "", ""
}

// lacking is the error of a database that lacks something.
func lacking(what, lacks string) error {
	return fmt.Errorf("%s lacks %s: use PostgreSQL %d or newer", what, lacks, minimumVersion/10000)
}

// checkProduct refuses what talks like PostgreSQL and is something else: by its name, so that the reason is the right
// one, and by what it can't do.
func checkProduct(ctx context.Context, conn *pgx.Conn) error {
	var version string
	if err := conn.QueryRow(ctx, `SELECT version()`).Scan(&version); err != nil {
		return err
	}
	switch name, lacks := lookAlike(version); {
	case lacks != "":
		return lacking("the database is "+name+" and not PostgreSQL, and", lacks)
	case name != "":
		return fmt.Errorf("the database says that it is %s, and not PostgreSQL: use PostgreSQL %d or newer", name, minimumVersion/10000)
	}
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	for _, feature := range []struct{ sql, lacks string }{
		{`LISTEN docket`, lackListen},
		{`SELECT 'pg_walfile_name(pg_lsn)'::regprocedure, 'pg_control_system()'::regprocedure`, lackLog},
		{`SELECT pg_try_advisory_xact_lock(0, 0)`, lackLocks},
		{`SELECT 1 / count(*) FROM pg_am WHERE amname = 'gin'`, lackIndexes},
	} {
		if err := try(ctx, conn, feature.sql); err != nil {
			if isBroken(err) || timedOut(err) {
				return err
			}
			return fmt.Errorf("%w (%w)", lacking("the database says that it is "+version+", but", feature.lacks), err)
		}
	}
	return nil
}

var errTried = errors.New("tried")

// try runs a statement without effect.
func try(ctx context.Context, conn *pgx.Conn, sql string) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// checkLocks makes sure that a lock of one session keeps another one out. Elsewhere they may be there for show.
func checkLocks(ctx context.Context, conn, other *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, lockSpace, tryNumber); err != nil {
			return err
		}
		var locked bool
		if err := other.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockSpace, tryNumber).Scan(&locked); err != nil {
			return err
		}
		if locked {
			return lacking("the database says that it is PostgreSQL, but", lackLocks)
		}
		return nil
	})
}
