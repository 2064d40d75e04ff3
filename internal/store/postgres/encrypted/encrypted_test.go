// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package encrypted_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/postgres/encrypted"
)

// TestWhatGoesOverANetwork: what a URL leaves open does not go over a network.
func TestWhatGoesOverANetwork(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	const other, local, both = "postgres://me:s3cret@db.example/x", "postgres://me@127.0.0.1/x", "postgres://me@localhost:1,db.example:2/x"
	for url, refused := range map[string]bool{
		other: true, both: true, other + "?sslmode=": true, "postgres://me@[2001:db8::1]/x": true,
		other + "?sslmode=require": false, other + "?sslmode=verify-full": false,
		other + "?sslmode=disable": false, other + "?sslmode=prefer": false,
		local: false, "postgres://me@[::1]/x": false, "postgres://me@localhost/x": false, "postgres:///x?host=/run/postgresql": false,
	} {
		config := testkit.Must(pgx.ParseConfig(url))(t)
		switch err := encrypted.Check(url, config); {
		case refused != (err != nil):
			t.Errorf("%s: %v, want refused: %t", url, err, refused)
		case refused && (!strings.Contains(err.Error(), "sslmode=verify-full") || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: %v, want the remedy, and no password", url, err)
		}
	}
	t.Setenv("PGSSLMODE", "prefer")
	config := testkit.Must(pgx.ParseConfig(other))(t)
	if err := encrypted.Check(other, config); err != nil {
		t.Errorf("with PGSSLMODE=prefer: %v", err)
	}
}
