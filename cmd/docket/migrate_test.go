// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestMigrateNothing: a source that is missing or empty is an error, and nothing is made in its place.
func TestMigrateNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := func(name string) string { return "sqlite://" + filepath.Join(folder, name) }
	storage := apiserver.NewStorageOptions()
	storage.Database = url("empty.db")
	empty := testkit.Must(apiserver.OpenReports(t.Context(), storage))(t)
	testkit.NoError(t, empty.Close())
	for _, test := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"no file", "--from: open " + folder + "/missing.db: there is no such database", cli.ExitUsage, []string{"database", "--from", url("missing.db"), "--database", url("empty.db")}},
		{"no cluster", `--from: open ` + folder + `/empty.db: there is no such database: it has no cluster "east"`, cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--from-cluster=east", "--database", url("copy.db")}},
		{"no reports", "--from: the source has no objects", cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--database", url("other.db")}},
		{"no reports, and that is right", "0 objects at the source, 0 at the destination", cli.ExitOK, []string{"database", "--from", url("empty.db"), "--database", url("other.db"), "--allow-empty"}},
		{"nothing to compare with", "--database: open " + folder + "/missing.db", cli.ExitUsage, []string{"database", "--from", url("empty.db"), "--database", url("missing.db"), "--verify", "--allow-empty"}},
		{"no folder", "--from: open " + folder + "/none/missing.db: there is no such database", cli.ExitUsage, []string{"database", "--from", url("none/missing.db"), "--database", url("empty.db")}},
		{"no rows in etcd", "--database: etcd keeps reports without result rows", cli.ExitFailure, []string{"results", "--database", "etcd://localhost"}},
		{"no rows", "--database: open " + folder + "/missing.db", cli.ExitUsage, []string{"results", "--database", url("missing.db")}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := docket(ctx, t, append([]string{"migrate"}, test.args...)...)
		output, _ := command.CombinedOutput() // The exit code is looked at.
		cancel()
		if code := command.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
			t.Errorf("%s: exit code %d, want %d, and %q in:\n%s", test.name, code, test.code, test.want, output)
		}
	}
	for _, name := range []string{"missing.db", "copy.db"} {
		if _, err := os.Stat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
}
