// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

const secret = "s3cret"

func TestOpenRefusesParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url   string
		words []string
	}{
		"connection string":  {"host=host password=" + secret, []string{"no scheme"}},
		"other scheme":       {"mysql://user:" + secret + "@host/db", []string{"mysql", "postgres://"}},
		"not a URL":          {"postgres://user:" + secret + "%zz@host/db", []string{"percent-encode"}},
		"unknown parameter":  {"postgres://user:" + secret + "@host/db?ssl_mode=require", []string{"ssl_mode", "sslmode"}},
		"repeated parameter": {"postgres://host/db?password=" + secret + "&password=" + secret, []string{"password", "once"}},
		"bad query":          {"postgres://host/db?password=" + secret + "%zz", []string{"percent-encode"}},
		"no slashes":         {"postgres:" + secret, []string{"postgres://"}},
		"asynchronous":       {"postgres://host/db?synchronous_commit=off", []string{"synchronous_commit", "remote_apply"}},
		"connections":        {"postgres://host/db?max_conns=many", []string{"max_conns", "many"}},
		"no connections":     {"postgres://host/db?max_conns=0", []string{"max_conns"}},
		"too many":           {"postgres://host/db?max_conns=99999", []string{"max_conns"}},
		"sqlite host":        {"sqlite://relative/path.db", []string{"three slashes"}},
		"sqlite relative":    {"sqlite:path.db", []string{"three slashes"}},
		"sqlite folder":      {"sqlite:///var/lib/", []string{"names no file"}},
		"sqlite parameter":   {"sqlite:///a.db?journal_mode=off", []string{"journal_mode", "synchronous"}},
		"sqlite bytes":       {"sqlite:///a.db?max_bytes=1G", []string{"max_bytes", "1G"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, err := database.Open(t.Context(), c.url, database.Options{Cluster: "main", ConnectTimeout: time.Second})
			if err == nil {
				t.Fatal("open succeeded")
			}
			if opened != nil {
				t.Errorf("an engine came with the error: %T", opened)
			}
			if validated := database.Validate(c.url); validated == nil || validated.Error() != err.Error() {
				t.Errorf("Validate says %v, Open %v", validated, err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q doesn't say %q", err, word)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}

func TestSQLiteHasNoPassword(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	_, err := database.Open(t.Context(), "sqlite://"+path, database.Options{Cluster: "main", PasswordFile: "x"})
	if err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, databaseURL := range map[string]string{
		"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "a b.db") +
			"?synchronous=normal&cache_bytes=1048576&readers=2&max_bytes=1073741824",
		"postgres": testenv.Postgres(t).Database(t) + "&max_conns=2&synchronous_commit=remote_write",
	} {
		t.Run(name, func(t *testing.T) {
			testkit.NoError(t, database.Validate(databaseURL))
			opened := testkit.Must(database.Open(t.Context(), databaseURL, database.Options{Cluster: "main"}))(t)
			batch, err := opened.Commit(t.Context(), []engine.Op{{Kind: engine.Create, Resource: "/r/", Key: "a"}})
			if err != nil || batch.State.Revision != 2 {
				t.Errorf("commit: %+v, %v", batch, err)
			}
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRedactedForms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://user:" + secret + "@host:5432/db?sslmode=require": "postgres://user:xxxxx@host:5432/db?sslmode=require",
		"postgres://user@host/db":                                     "postgres://user@host/db",
		"postgres://host/db?password=" + secret + "&user=u":           "postgres://host/db?password=xxxxx&user=u",
		"postgres://host/db?sslpassword=" + secret:                    "postgres://host/db?sslpassword=xxxxx",
		"postgres://host/db?password=" + secret + "%zz":               "postgres://host/db?xxxxx",
		"postgres://user:" + secret + "%zz@host/db":                   "(not a URL)",
		"host=h password=" + secret:                                   "(not a URL)",
		"sqlite:///path/to/file.db":                                   "sqlite:///path/to/file.db",
	} {
		if got := database.Redacted(in); got != want {
			t.Errorf("Redacted gives %q, want %q", got, want)
		}
		if got := database.HasPassword(in); got != strings.Contains(want, "xxxxx") {
			t.Errorf("HasPassword(%q) is %t", want, got)
		}
	}
}

// TestExisting: what does not exist is not made, and is no reason to wait.
func TestExisting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, databaseURL := range map[string]string{
		"sqlite": "sqlite://" + filepath.Join(folder, "a.db"), "postgres": testenv.Postgres(t).Database(t),
	} {
		t.Run(name, func(t *testing.T) {
			missing := func(cluster string) {
				t.Helper()
				opened, err := database.Open(t.Context(), databaseURL, database.Options{Cluster: cluster, Existing: true})
				if err == nil {
					err = opened.Close()
				}
				if !errors.Is(err, engine.ErrMissing) {
					t.Errorf("%s: got %v", cluster, err)
				}
			}
			missing("main")
			if left, err := os.ReadDir(folder); err != nil || name == "sqlite" && len(left) > 0 {
				t.Errorf("something was made: %v, %v", left, err)
			}
			for _, existing := range []bool{false, true} {
				opened := testkit.Must(database.Open(t.Context(), databaseURL, database.Options{Cluster: "main", Existing: existing}))(t)
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
			}
			missing("east")
		})
	}
}
