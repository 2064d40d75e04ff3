// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a copy of the server that follows it by streaming replication, and
// returns when the primary waits for the copy with each commit, so that nothing that
// it acknowledged can be lost with it. The standby has the same databases, users and
// passwords, and ends with the test.
func (d *Dedicated) Standby(t testing.TB) *Dedicated {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	standby, err := newStandby(ctx, d.process)
	if err != nil {
		t.Fatalf("start a standby: %v", err)
	}
	t.Cleanup(func() {
		// A primary that is still there must not wait for what is gone.
		if d.process.running() {
			if err := d.process.stopWaiting(); err != nil {
				t.Errorf("let the primary go on alone: %v", err)
			}
		}
		if err := standby.close(); err != nil {
			t.Errorf("end the standby: %v", err)
		}
	})
	if err := d.process.waitSynchronous(ctx); err != nil {
		t.Fatalf("wait for the standby: %v", err)
	}
	return &Dedicated{Server: &Server{process: standby}}
}

// Promote makes a standby the primary, and returns when it takes writes.
func (d *Dedicated) Promote(t testing.TB) {
	t.Helper()
	if err := d.process.admin("SELECT pg_promote(true, 60)"); err != nil {
		t.Fatalf("promote the standby: %v", err)
	}
	// It was a copy of a primary that waits for a standby: this one has none.
	if err := d.process.stopWaiting(); err != nil {
		t.Fatalf("let the new primary go on alone: %v", err)
	}
}

// GoOnAlone has a primary wait for no standby any more: what it commits from now on is lost with it where the standby
// has not got it.
func (d *Dedicated) GoOnAlone(t testing.TB) {
	t.Helper()
	if err := d.process.stopWaiting(); err != nil {
		t.Fatalf("let the primary go on alone: %v", err)
	}
}

// stopWaiting turns synchronous replication off.
func (p *process) stopWaiting() error {
	return errors.Join(p.admin("ALTER SYSTEM RESET synchronous_standby_names"), p.admin("SELECT pg_reload_conf()"))
}

func newStandby(ctx context.Context, primary *process) (*process, error) {
	dir, err := primary.install.mkdirTemp("docket-pg-")
	if err != nil {
		return nil, err
	}
	dog, err := newWatchdog(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &process{install: primary.install, dir: dir, password: primary.password, watchdog: dog}
	if err := p.follow(ctx, primary); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// follow copies the primary's data and starts a server that continues from the copy.
func (p *process) follow(ctx context.Context, primary *process) error {
	cmd := p.install.command(ctx, "pg_basebackup",
		"--pgdata="+filepath.Join(p.dir, "data"), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast",
		"--host="+primary.dir, "--port="+strconv.Itoa(primary.port), "--username="+superuser)
	cmd.Dir = p.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, output)
	}
	var err error
	if p.port, err = freePort(); err != nil {
		return err
	}
	return p.start(ctx)
}

// waitSynchronous turns synchronous replication on and waits until it is in force.
func (p *process) waitSynchronous(ctx context.Context) error {
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := p.admin(statement); err != nil {
			return err
		}
	}
	connection, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		var synchronous bool
		err := connection.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')").Scan(&synchronous)
		if err != nil || synchronous {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
