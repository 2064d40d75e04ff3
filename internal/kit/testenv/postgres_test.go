// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// helperVariable makes this test binary start a server, tell where, and wait to be
// killed: see TestServerEndsWithItsProcess.
const helperVariable = "DOCKET_TESTENV_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	os.Exit(m.Run())
}

func helper() int {
	s, err := newServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.process.cmd.Process.Pid, s.process.dir)
	select {} // Until the kill.
}

func query[T any](t *testing.T, url, sql string, arguments ...any) T {
	t.Helper()
	connection := testkit.Must(pgx.Connect(t.Context(), url))(t)
	defer func() {
		if err := connection.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var got T
	if err := connection.QueryRow(t.Context(), sql, arguments...).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func TestPostgresIsSharedAndDurable(t *testing.T) {
	t.Parallel()
	server := Postgres(t)
	if again := Postgres(t); again != server {
		t.Error("a second call started a second server")
	}
	url := server.Database(t)
	for _, test := range []struct{ setting, want string }{
		{"fsync", "on"},
		{"synchronous_commit", "on"},
		{"full_page_writes", "on"},
		{"max_connections", "200"},
	} {
		if got := query[string](t, url, "SELECT current_setting($1)", test.setting); got != test.want {
			t.Errorf("%s = %s, want %s", test.setting, got, test.want)
		}
	}
}

func TestDatabasesAreEmptyAndApart(t *testing.T) {
	t.Parallel()
	server := Postgres(t)
	first, second := server.Database(t), server.Database(t)
	query[int](t, first, "WITH made AS (SELECT 1) SELECT * FROM made")
	const tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
	connection := testkit.Must(pgx.Connect(t.Context(), first))(t)
	testkit.Must(connection.Exec(t.Context(), "CREATE TABLE here (n int)"))(t)
	testkit.NoError(t, connection.Close(t.Context()))
	got := []int{query[int](t, first, tables), query[int](t, second, tables)}
	testkit.NoDiff(t, cmp.Diff([]int{1, 0}, got), "tables of the two databases (-want +got)")
}

func TestDatabaseIsDroppedAtTestEnd(t *testing.T) {
	t.Parallel()
	server := Postgres(t)
	outer := server.Database(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		inner := server.Database(t)
		name = query[string](t, inner, "SELECT current_database()")
	})
	if n := query[int](t, outer, "SELECT count(*) FROM pg_database WHERE datname = $1", name); n != 0 {
		t.Errorf("database %s is still there", name)
	}
}

func TestCollationIsNotBytewise(t *testing.T) {
	t.Parallel()
	url := Postgres(t).Database(t)
	if query[bool](t, url, "SELECT 'B' < 'a'") {
		t.Error("the default collation is bytewise: missing COLLATE clauses would go unnoticed")
	}
}

func TestLoopbackWantsThePassword(t *testing.T) {
	t.Parallel()
	server := Postgres(t)
	url := WithAddr(t, server.Database(t), server.Addr())
	if address := query[string](t, url, "SELECT host(inet_server_addr())"); address != "127.0.0.1" {
		t.Errorf("connected to %s, want 127.0.0.1", address)
	}
	wrong := strings.Replace(url, server.process.password, "wrong", 1)
	if connection, err := pgx.Connect(t.Context(), wrong); err == nil {
		_ = connection.Close(t.Context())
		t.Error("a wrong password was accepted")
	}
}

func TestDedicatedKeepsAcknowledgedData(t *testing.T) {
	t.Parallel()
	server := NewPostgres(t)
	url := server.Database(t)
	connection := testkit.Must(pgx.Connect(t.Context(), url))(t)
	testkit.Must(connection.Exec(t.Context(), "CREATE TABLE kept AS SELECT generate_series(1, 100) AS n"))(t)
	for _, step := range []struct {
		name string
		do   func(testing.TB)
	}{
		{"kill", func(t testing.TB) { t.Helper(); server.Kill(t); server.Start(t) }},
		{"restart", server.Restart},
	} {
		step.do(t)
		if err := connection.Ping(t.Context()); err == nil {
			t.Errorf("%s: an old connection survived", step.name)
		}
		if n := query[int](t, url, "SELECT count(*) FROM kept"); n != 100 {
			t.Errorf("%s: %d rows, want 100", step.name, n)
		}
	}
}

func TestKillAndStopRefuseWhatIsNotRunning(t *testing.T) {
	t.Parallel()
	server := NewPostgres(t)
	server.Kill(t)
	if err := server.process.stop(); err == nil {
		t.Error("stop of a killed server gave no error")
	}
	if _, err := pgx.Connect(t.Context(), server.process.url("postgres")); err == nil {
		t.Error("a killed server answers")
	}
}

// TestServerEndsWithItsProcess kills a process that has a server, and looks for
// remains of both.
func TestServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	self := testkit.Must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	cmd.Stderr = os.Stderr
	output := testkit.Must(cmd.StdoutPipe())(t)
	testkit.NoError(t, cmd.Start())
	var pid int
	var dir string
	testkit.Must(fmt.Fscanln(output, &pid, &dir))(t)
	if !alive(pid) {
		t.Fatalf("server %d is not running", pid)
	}
	testkit.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // Killed: the status is known.

	testkit.Succeeds(t, "the server is gone, and its folder", func() error {
		_, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && !alive(pid) {
			return nil
		}
		return fmt.Errorf("server %d alive: %t; folder %s: %w", pid, alive(pid), dir, err)
	})
}

// alive reports whether the process runs; a zombie that nobody reaped does not.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return false
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return true // Not Linux: the signal's answer has to do.
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15,
		"postgres (PostgreSQL) 18beta1":                        18,
	} {
		if got, err := parseMajor(version); err != nil || got != want {
			t.Errorf("parseMajor(%q) = %d, %v, want %d", version, got, err, want)
		}
	}
	for _, version := range []string{"", "mysqld 8", "postgres (PostgreSQL) devel"} {
		if got, err := parseMajor(version); err == nil {
			t.Errorf("parseMajor(%q) = %d, want an error", version, got)
		}
	}
}

func TestSocketDirIsShort(t *testing.T) {
	t.Parallel()
	if dir := SocketDir(t); len(dir) > maximumSocketDir+20 {
		t.Errorf("%s has %d bytes", dir, len(dir))
	}
}
