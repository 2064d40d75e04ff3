// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// TestSuite runs on the machine's own server, which is the oldest that is supported where that is Debian's.
var postgresVersions = flag.String("postgres-versions", "15,16,17,18", "major versions of PostgreSQL that TestVersions runs the suite on")

// TestVersions runs the suite on all versions of PostgreSQL that are supported.
func TestVersions(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for version := range strings.SplitSeq(*postgresVersions, ",") {
		major := testkit.Must(strconv.Atoi(version))(t)
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := testenv.PostgresVersion(t, major)
			var got string
			if err := connect(t, server.Database(t)).QueryRow(t.Context(), `SHOW server_version`).Scan(&got); err != nil || !strings.HasPrefix(got, fmt.Sprint(major, ".")) {
				t.Fatalf("the server has version %s: %v", got, err)
			}
			enginetest.Run(t, enginetest.Target{
				Shared: true,
				New: func(t testing.TB) enginetest.Open {
					url := server.Database(t)
					return func(t testing.TB, cluster string) enginetest.Engine { return open(t, url, cluster) }
				},
			})
		})
	}
}
