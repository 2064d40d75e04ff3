// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// edit returns a database URL with a change.
func edit(t *testing.T, databaseURL string, change func(*url.URL)) string {
	t.Helper()
	u := testkit.Must(url.Parse(databaseURL))(t)
	change(u)
	return u.String()
}

// refused opens what can't be opened, and returns the error. There must not be a second
// attempt, since waiting would not help.
func refused(t *testing.T, options postgres.Options) error {
	t.Helper()
	return gaveUp(t, options, func(cause string) bool {
		t.Errorf("it waits, because of %q", cause)
		return true
	})
}

// waitsFor opens a database that lets nobody in now, which Open has to take for a reason to wait.
func waitsFor(t *testing.T, words string, options postgres.Options) {
	t.Helper()
	waited := false
	err := gaveUp(t, options, func(cause string) bool {
		waited = waited || strings.Contains(cause, words)
		return waited
	})
	if !waited || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("it did not wait because of %q, but got %v", words, err)
	}
}

// gaveUp returns the error of Open, which is interrupted when enough says so of the cause of an attempt that failed.
func gaveUp(t *testing.T, options postgres.Options, enough func(cause string) bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	options.Cluster = "main"
	options.Waiting = func(cause string, _ time.Duration) {
		if enough(cause) {
			cancel()
		}
	}
	e, err := postgres.Open(ctx, options)
	if err == nil {
		_ = e.Close()
		t.Fatal("open succeeded")
	}
	return err
}

func wantWords(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q doesn't say %q", err, word)
		}
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	const database = "postgres://user:s3cret@127.0.0.1:1/reports"
	for name, c := range map[string]struct {
		options postgres.Options
		words   []string
	}{
		"no cluster":       {postgres.Options{URL: database}, []string{"cluster"}},
		"cluster not text": {postgres.Options{URL: database, Cluster: "a\x00b"}, []string{"cluster", "UTF-8"}},
		"asynchronous":     {postgres.Options{URL: database, Cluster: "a", SynchronousCommit: "off"}, []string{"off", "remote_apply"}},
		"connections":      {postgres.Options{URL: database, Cluster: "a", MaxConns: -1}, []string{"-1"}},
		"URL":              {postgres.Options{URL: database + "?sslmode=maybe", Cluster: "a"}, []string{"sslmode"}},
		"no file":          {postgres.Options{URL: database, Cluster: "a", PasswordFile: "/nowhere/password"}, []string{"/nowhere/password"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), c.options)
			if err == nil {
				t.Fatal("open succeeded")
			}
			wantWords(t, err, c.words...)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}

func TestOpenWithPasswords(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	socket := server.Database(t)
	good := testenv.WithAddr(t, socket, server.Addr())
	parsed, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := parsed.User.Password()
	file := filepath.Join(t.TempDir(), "password")
	testkit.NoError(t, os.WriteFile(file, []byte(password+"\r\nmore\n"), 0o600))
	bad := edit(t, good, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wr0ng") })

	err = refused(t, postgres.Options{URL: bad})
	wantWords(t, err, server.Addr(), "password authentication failed")
	if strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("error %q shows the password", err)
	}
	for name, options := range map[string]postgres.Options{
		"in the URL": {URL: good},
		"in a file":  {URL: bad, PasswordFile: file},
	} {
		options.Cluster = "main"
		e, err := postgres.Open(t.Context(), options)
		if err != nil {
			t.Errorf("password %s: %v", name, err)
			continue
		}
		commit(t, e, []engine.Op{create(name)})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefusesDatabases(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	databaseURL := server.Database(t)
	other := func(name string) string { return edit(t, databaseURL, func(u *url.URL) { u.Path = "/" + name }) }

	wantWords(t, refused(t, postgres.Options{URL: other("missing")}), "missing", "does not exist")

	execute(t, databaseURL, `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`)
	wantWords(t, refused(t, postgres.Options{URL: other("latin")}), "LATIN1", "UTF8")

	e := open(t, databaseURL, "main")
	commit(t, e, []engine.Op{create("a")})
	execute(t, databaseURL, `UPDATE docket.revision SET min_reader = 9999`)
	err := refused(t, postgres.Options{URL: databaseURL, Cluster: "main"})
	if !errors.Is(err, engine.ErrSchema) {
		t.Errorf("newer format: got %v, want %v", err, engine.ErrSchema)
	}
	wantWords(t, err, "9999", "upgrade Docket")
}

// TestOpenAsPlainRole opens with a role that may do nothing special, on a server
// that keeps its identity secret, and without the right to make the schema.
func TestOpenAsPlainRole(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	admin := server.Database(t)
	execute(t, admin, `CREATE ROLE app LOGIN`)
	for _, function := range []string{"pg_control_system()", "pg_walfile_name(pg_lsn)"} {
		execute(t, admin, `REVOKE EXECUTE ON FUNCTION `+function+` FROM PUBLIC`)
	}
	plain := edit(t, admin, func(u *url.URL) { u.User = url.User("app") })

	wantWords(t, refused(t, postgres.Options{URL: plain}), "CREATE SCHEMA docket AUTHORIZATION")

	execute(t, admin, `CREATE SCHEMA docket AUTHORIZATION app`)
	e := open(t, plain, "main")
	commit(t, e, []engine.Op{create("a")})
	before := present(t, e)
	testkit.NoError(t, e.Close())
	e = open(t, plain, "main")
	if state := present(t, e); state != before {
		t.Errorf("state was %+v and is %+v", before, state)
	}
	if _, err := e.Usage(t.Context()); err != nil {
		t.Errorf("usage: %v", err)
	}

	// What the server says when it has no connection left is no reason to give up.
	testkit.NoError(t, e.Close())
	name := connect(t, admin).Config().Database
	execute(t, admin, `ALTER DATABASE `+name+` CONNECTION LIMIT 0`)
	waitsFor(t, "too many connections", postgres.Options{URL: plain})
}

func TestOpenWaitsForTheServer(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	databaseURL := testenv.WithAddr(t, server.Database(t), server.Addr())
	server.Stop(t)
	_, err := postgres.Open(t.Context(), postgres.Options{URL: databaseURL, Cluster: "main", ConnectTimeout: 300 * time.Millisecond})
	if !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("no server: got %v, want %v", err, engine.ErrUnavailable)
	}
	wantWords(t, err, server.Addr())

	failed := make(chan string, 1)
	var group sync.WaitGroup
	group.Go(func() {
		e, err := postgres.Open(t.Context(), postgres.Options{URL: databaseURL, Cluster: "main", Waiting: func(cause string, _ time.Duration) {
			select {
			case failed <- cause:
			default:
			}
		}})
		if err != nil {
			t.Errorf("open while the server starts: %v", err)
			return
		}
		commit(t, e, []engine.Op{create("a")})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	testkit.Receive(t, "an attempt without a server", failed)
	server.Start(t)
	group.Wait()
}

// TestOpenTogether starts several replicas on an empty database at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	databaseURL := testenv.Postgres(t).Database(t)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			e, err := postgres.Open(t.Context(), postgres.Options{URL: databaseURL, Cluster: "main"})
			if err != nil {
				t.Errorf("replica %d: %v", i, err)
				return
			}
			commit(t, e, []engine.Op{create(fmt.Sprint(i))})
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	e := open(t, databaseURL, "main")
	if state := present(t, e); state.Revision != 7 {
		t.Errorf("state after a commit of each replica: %+v", state)
	}
}

// TestSizeOnDisk holds the size of a report in the tables to what docs promise.
func TestSizeOnDisk(t *testing.T) {
	t.Parallel()
	// Of these, 500 are the object's compressed JSON and 120 the hash indexes for
	// people who look for a subject.
	const objects, limit = 10_000, 2100
	databaseURL := testenv.Postgres(t).Database(t)
	e := open(t, databaseURL, "main")
	for range objects / 500 {
		commit(t, e, benchOps(500))
	}
	var sum int64
	for _, size := range tableSizes(t, databaseURL) {
		t.Logf("%-9s %5d bytes a report in the table, %4d in its indexes", size.name, size.table/objects, size.indexes/objects)
		// History is bounded, and so is what is to be moved to the counters: to ten seconds of writes. Neither is a
		// part of a report.
		if size.name != "event" && size.name != "tally_change" {
			sum += size.table + size.indexes
		}
	}
	t.Logf("%d bytes a report", sum/objects)
	if sum/objects > limit {
		t.Errorf("a report takes %d bytes, at most %d are allowed", sum/objects, limit)
	}
}

type tableSize struct {
	name           string
	table, indexes int64
}

func tableSizes(t *testing.T, databaseURL string) []tableSize {
	t.Helper()
	rows, err := connect(t, databaseURL).Query(t.Context(), `SELECT relname, pg_table_size(oid), pg_indexes_size(oid)
		FROM pg_class WHERE relnamespace = 'docket'::regnamespace AND relkind = 'r' ORDER BY relname`)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []tableSize
	for rows.Next() {
		var size tableSize
		testkit.NoError(t, rows.Scan(&size.name, &size.table, &size.indexes))
		sizes = append(sizes, size)
	}
	testkit.NoError(t, rows.Err())
	return sizes
}
