// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestBackupCommands: what the commands say, and that a backup goes through pipes.
func TestBackupCommands(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := func(name string) string { return "sqlite://" + filepath.Join(folder, name) }
	used := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(folder, "docket.db"), Cluster: "default"}))(t)
	t.Cleanup(func() { _ = used.Close() })
	copied := filepath.Join(folder, "backup.db")
	var piped []byte
	for _, test := range []struct {
		want  string
		code  int
		stdin bool
		args  []string
	}{
		{"Wrote " + copied, cli.ExitOK, false, []string{"backup", "--database", url("docket.db"), "--to", copied}},
		{"exists: give another name", cli.ExitFailure, false, []string{"backup", "--database", url("docket.db"), "--to", copied}},
		{"SQLite format 3", cli.ExitOK, false, []string{"backup", "--database", url("docket.db"), "--to", "-"}},
		{"--database: open " + folder + "/nope.db: there is no such database", cli.ExitUsage, false, []string{"backup", "--database", url("nope.db"), "--to", "-"}},
		{"use pg_dump", cli.ExitUsage, false, []string{"backup", "--database", "postgres://localhost/x", "--to", "-"}},
		{"--to: is required", cli.ExitUsage, false, []string{"backup", "--database", url("docket.db")}},
		{"or give --at-next-start", cli.ExitFailure, false, []string{"restore", "--database", url("docket.db"), "--from", copied}},
		{"restart it now", cli.ExitOK, false, []string{"restore", "--database", url("docket.db"), "--from", copied, "--at-next-start"}},
		{"Restored. When a server starts", cli.ExitOK, true, []string{"restore", "--database", url("other.db"), "--from", "-"}},
		{"clients list again", cli.ExitOK, false, []string{"restore", "--database", url("other.db"), "--replaced"}},
		{"--from: is required", cli.ExitUsage, false, []string{"restore", "--database", url("other.db")}},
		{"give one of them", cli.ExitUsage, false, []string{"restore", "--database", url("other.db"), "--from", copied, "--replaced"}},
		{"--database-password-file: is for --replaced", cli.ExitUsage, false, []string{"restore", "--database", url("other.db"), "--from", copied, "--database-password-file", copied}},
		{"--from: open " + folder + "/nope: no such file", cli.ExitUsage, false, []string{"restore", "--database", url("other.db"), "--from", folder + "/nope"}},
		{"--from: backup.go: it is not a backup of Docket", cli.ExitFailure, false, []string{"restore", "--database", url("other.db"), "--from", "backup.go"}},
		{"use pg_dump", cli.ExitUsage, false, []string{"restore", "--database", "etcd://localhost", "--from", copied}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := docket(ctx, t, test.args...)
		if test.stdin {
			command.Stdin = bytes.NewReader(piped)
		}
		output, _ := command.CombinedOutput() // The exit code is looked at.
		cancel()
		if code := command.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(output), test.want) {
			t.Errorf("docket %s: exit code %d, want %d, and %q in:\n%.500q", strings.Join(test.args, " "), code, test.code, test.want, output)
		}
		if strings.HasPrefix(string(output), "SQLite format 3") {
			piped = output
		}
	}
}
