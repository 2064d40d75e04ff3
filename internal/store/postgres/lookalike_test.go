// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// TestLookAlikes: what talks like PostgreSQL and lacks what Docket needs is refused, by name, or by what it lacks. It
// is a PostgreSQL whose own functions are hidden by others.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	version := func(text string) string {
		return `CREATE FUNCTION fake.version() RETURNS text LANGUAGE sql AS $$ SELECT '` + text + `'::text $$`
	}
	for name, c := range map[string]struct {
		function string
		refused  []string // What the error has in it; nothing for admitted databases.
	}{
		"cockroach": {version("CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/18, go1.23.7)"), []string{"CockroachDB", "LISTEN"}},
		"yugabyte": {
			version("PostgreSQL 15.12-YB-2025.2.3.0-b1 on x86_64-pc-linux-gnu, compiled by clang, 64-bit"),
			[]string{"YugabyteDB", "write-ahead log"},
		},
		"redshift": {version("PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.12103"), []string{"Redshift", "row locks"}},
		"unknown":  {version("SomethingDB 1.0"), []string{"SomethingDB", "not PostgreSQL"}},
		"no lock at all": {
			`CREATE FUNCTION fake.pg_try_advisory_xact_lock(int4, int4) RETURNS bool LANGUAGE plpgsql AS
				$$ BEGIN RAISE 'not supported yet' USING ERRCODE = '0A000'; END $$`,
			[]string{"lacks advisory locks", "not supported yet"},
		},
		"locks for show": {
			`CREATE FUNCTION fake.pg_try_advisory_xact_lock(int4, int4) RETURNS bool LANGUAGE sql AS $$ SELECT true $$`,
			[]string{"lacks advisory locks"},
		},
		"PostgreSQL": {version("PostgreSQL 16.4 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := testenv.Postgres(t).Database(t)
			execute(t, address, `CREATE SCHEMA fake`)
			execute(t, address, c.function)
			e, err := postgres.Open(t.Context(), postgres.Options{
				URL: address + "&search_path=" + url.QueryEscape("fake,pg_catalog"), Cluster: "main",
			})
			if err == nil {
				commit(t, e, []engine.Op{create("a")})
				err = e.Close()
			}
			if (err != nil) != (len(c.refused) > 0) {
				t.Fatalf("the error is %v", err)
			}
			for _, part := range c.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: says nothing of %q", err, part)
				}
			}
			if err != nil {
				t.Log(err)
			}
		})
	}
}
