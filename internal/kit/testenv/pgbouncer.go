// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Bouncer is a PgBouncer in front of the server of a database URL.
type Bouncer struct {
	address string
	dir     string
	install *installation
	dog     *watchdog
	cmd     *exec.Cmd
}

// bouncerSettings configure a PgBouncer that lets everybody in: it listens on loopback for the time of a test. After
// a failed connection it retries soon.
const bouncerSettings = `[databases]
* = host=%[1]s port=%[2]s user=%[3]s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[4]d
unix_socket_dir =
auth_type = any
admin_users = %[3]s
pool_mode = %[5]s
default_pool_size = %[6]d
max_client_conn = 1000
server_login_retry = 1
`

// NewBouncer starts PgBouncer with a pool_mode, session or transaction, and at most sessions of them for each database.
// It knows all databases of the server that databaseURL, as Database made it, is of. It ends with the test.
func NewBouncer(t testing.TB, databaseURL, mode string, sessions int) *Bouncer {
	t.Helper()
	if err := Need(t.Context(), "pgbouncer=pgbouncer"); err != nil {
		t.Fatal(err)
	}
	b, err := newBouncer(databaseURL, mode, sessions)
	if err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.end(), b.dog.close()); err != nil {
			t.Errorf("end PgBouncer: %v", err)
		}
	})
	b.Start(t)
	return b
}

func newBouncer(databaseURL, mode string, sessions int) (*Bouncer, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, err
	}
	runAs, err := serverUser()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	install := &installation{bin: "/usr/sbin", runAs: runAs}
	dir, err := install.mkdirTemp("docket-bouncer-")
	if err != nil {
		return nil, err
	}
	dog, err := newWatchdog(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	query := u.Query()
	settings := fmt.Sprintf(bouncerSettings, query.Get("host"), query.Get("port"), superuser, port, mode, sessions)
	//nolint:gosec // PgBouncer runs as another user, and there is no secret in it.
	if err := os.WriteFile(filepath.Join(dir, "pgbouncer.ini"), []byte(settings), 0o644); err != nil {
		return nil, errors.Join(err, dog.close())
	}
	return &Bouncer{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: dir, install: install, dog: dog}, nil
}

// URL returns the address of a database through PgBouncer.
func (b *Bouncer) URL(t testing.TB, databaseURL string) string {
	t.Helper()
	return WithAddr(t, databaseURL, b.address)
}

// Start starts PgBouncer after Kill, and returns when it takes connections.
func (b *Bouncer) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	var output bytes.Buffer
	// It outlives the start.
	b.cmd = b.install.command(context.WithoutCancel(ctx), "pgbouncer", filepath.Join(b.dir, "pgbouncer.ini"))
	b.cmd.SysProcAttr.Setpgid = true
	b.cmd.Stdout, b.cmd.Stderr = &output, &output
	if err := b.cmd.Start(); err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	if err := b.dog.watch(b.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "tcp", b.address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("PgBouncer does not answer: %v\n%s", err, output.String())
		case <-tick.C:
		}
	}
}

// Kill ends PgBouncer and all connections through it at once.
func (b *Bouncer) Kill(t testing.TB) {
	t.Helper()
	if err := b.end(); err != nil {
		t.Fatalf("kill PgBouncer: %v", err)
	}
}

// While runs work while no transaction is under way and PgBouncer has no session: its clients wait, and notice nothing
// else of what happens to the server.
func (b *Bouncer) While(t testing.TB, work func()) {
	t.Helper()
	b.console(t, "PAUSE")
	work()
	b.console(t, "RESUME")
}

func (b *Bouncer) console(t testing.TB, command string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, "postgres://"+superuser+"@"+b.address+"/pgbouncer?sslmode=disable")
	if err != nil {
		t.Fatalf("console of PgBouncer: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, command).ReadAll(); err != nil {
		t.Fatalf("console of PgBouncer: %s: %v", command, err)
	}
}

func (b *Bouncer) end() error {
	if b.cmd == nil {
		return nil
	}
	err := b.cmd.Process.Signal(syscall.SIGKILL)
	_ = b.cmd.Wait() // Says that it was killed.
	b.cmd = nil
	return errors.Join(err, b.dog.watch(0))
}
