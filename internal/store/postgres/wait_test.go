// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// TestAwayInWords: a server that is away is said in one line, with the cause and what to do.
func TestAwayInWords(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	synctest.Test(t, func(t *testing.T) { testAwayInWords(t, address) }) // Time passes while it only waits.
}

func testAwayInWords(t *testing.T, address string) {
	t.Helper()
	var told []string
	options := postgres.Options{
		URL: "postgres://me:secret@" + address + "/reports?sslmode=disable", Cluster: "main", ConnectTimeout: 2 * time.Second,
		Waiting: func(cause string, left time.Duration) {
			if left <= 0 || left > 2*time.Second {
				t.Errorf("%v are left of 2 s", left)
			}
			told = append(told, cause)
		},
	}
	err := postgres.Wait(t.Context(), options)
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("no server: got %v, want %v", err, engine.ErrUnavailable)
	}
	want := "open database reports at " + address + ": no answer within 2s: connection refused; start PostgreSQL there, or correct the address"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(told) == 0 || told[0] != "connection refused" {
		t.Errorf("told of %q", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	options.ConnectTimeout, options.Waiting = 0, func(string, time.Duration) { cancel() }
	_, err = postgres.Open(ctx, options)
	want = "open database reports at " + address + ": interrupted while waiting for it: connection refused"
	if !errors.Is(err, context.Canceled) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestRefusalInWords: so is one that refuses.
func TestRefusalInWords(t *testing.T) {
	t.Parallel()
	err := postgres.Wait(t.Context(), postgres.Options{URL: testenv.WithAddr(t, testenv.Postgres(t).Database(t), testenv.Postgres(t).Addr()), Cluster: "main"})
	if err != nil {
		t.Errorf("a server that is there: %v", err)
	}
	address := testenv.Postgres(t).Addr()
	admin := connect(t, testenv.Postgres(t).Database(t)).Config()
	err = postgres.Wait(t.Context(), postgres.Options{URL: fmt.Sprintf("postgres://%s:%s@%s/nothing", admin.User, admin.Password, address), Cluster: "main"})
	want := "open database nothing at " + address + `: database "nothing" does not exist; create it, or correct its name`
	if !errors.Is(err, engine.ErrUnavailable) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	// It has no TLS, and waiting does not change that.
	err = postgres.Wait(t.Context(), postgres.Options{URL: fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=verify-full", admin.User, admin.Password, address), Cluster: "main"})
	want = "open database postgres at " + address + ": tls error: server refused TLS connection; turn TLS on there (ssl = on), or correct sslmode and sslrootcert in the URL"
	if !errors.Is(err, engine.ErrUnavailable) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestMigrationTakesItsTime: ConnectTimeout is for a server that doesn't answer. One whose schema is being brought up
// to date is waited for.
func TestMigrationTakesItsTime(t *testing.T) {
	t.Parallel()
	timeout := time.Second
	url := testenv.Postgres(t).Database(t)
	other := connect(t, url)
	migrating, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	testkit.Must(migrating.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1, 0)`, int32(0x646f636b)))(t)
	opened := make(chan error, 1)
	open := func(timeout time.Duration) {
		e, err := postgres.Open(t.Context(), postgres.Options{URL: url, Cluster: "main", ConnectTimeout: timeout})
		if err == nil {
			err = e.Close()
		}
		opened <- err
	}
	go open(timeout)
	for waiting := false; !waiting; {
		select {
		case err := <-opened: // It did not get as far as that, on a busy machine.
			if timeout *= 2; !errors.Is(err, engine.ErrUnavailable) || timeout > testkit.Patience {
				t.Fatal(err)
			}
			go open(timeout)
		default:
		}
		const ask = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
		testkit.NoError(t, migrating.QueryRow(t.Context(), ask).Scan(&waiting))
	}
	testkit.Must(migrating.Exec(t.Context(), `SELECT pg_sleep($1)`, 2*timeout.Seconds()))(t)
	testkit.NoError(t, migrating.Commit(t.Context()))
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
