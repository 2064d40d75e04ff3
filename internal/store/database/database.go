// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// Options of Open that aren't part of the URL.
type Options struct {
	// Cluster whose objects are wanted. Required.
	Cluster string
	// Existing demands that the database and the cluster in it exist: neither is made.
	Existing bool
	// Binding says which Kubernetes cluster the share has to belong to. Optional.
	Binding engine.Binding
	// PasswordFile holds the password for PostgreSQL in its first line. It is read for each connection. Optional.
	PasswordFile string
	// MaxConns is the largest number of PostgreSQL connections for reads; 0 is the engine's default.
	MaxConns int
	// ConnectTimeout is how long to wait for a server that doesn't answer; 0 is as long as the context allows.
	ConnectTimeout time.Duration
	// Waiting is called for each failed attempt to reach a server, with the cause and how long others will follow; 0 is
	// without end. Optional.
	Waiting func(cause string, left time.Duration)
	// Logger for what happens in the background; nil for silence.
	Logger *slog.Logger
}

// Database is an open database: it stores objects, and answers questions about the results in them.
type Database interface {
	engine.Engine
	engine.Questions
}

// Open opens the database that a URL names:
//
//	sqlite:///path/to/file.db?synchronous=full&cache_bytes=…&max_bytes=…&readers=…
//	postgres://user@host:port/name?sslmode=verify-full&max_conns=…&synchronous_commit=…
//
// A postgres URL may have the parameters of libpq; what it leaves out comes from PGHOST, PGPASSWORD, PGPASSFILE and
// their like. Other parameters are errors. No error names a password. An etcd URL is refused: see [ParseEtcd]. The
// database must be closed.
func Open(ctx context.Context, rawURL string, options Options) (Database, error) {
	if IsEtcd(rawURL) {
		if _, err := ParseEtcd(rawURL); err != nil {
			return nil, err
		}
		return nil, errors.New("etcd keeps reports without result rows, for docket serve and docket up only: " + urlForm)
	}
	u, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == schemeSQLite {
		o, err := sqliteOptions(u, options)
		if err != nil {
			return nil, err
		}
		opened, err := sqlite.Open(ctx, o)
		if err != nil {
			return nil, err // And not an interface that holds a nil pointer.
		}
		return opened, nil
	}
	o, err := postgresOptions(u, options)
	if err != nil {
		return nil, err
	}
	opened, err := postgres.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// Wait returns when the server of a database answers, as [Open] waits for it. SQLite has none, and etcd
// is not for this package.
func Wait(ctx context.Context, rawURL string, options Options) error {
	u, err := parse(rawURL)
	if err != nil || u.Scheme == schemeSQLite {
		return err
	}
	o, err := postgresOptions(u, options)
	if err != nil {
		return err
	}
	return postgres.Wait(ctx, o)
}

// Validate says what is wrong with a URL, without opening anything.
func Validate(rawURL string) error {
	if IsEtcd(rawURL) {
		_, err := ParseEtcd(rawURL)
		return err
	}
	u, err := parse(rawURL)
	if err != nil {
		return err
	}
	if u.Scheme == schemeSQLite {
		_, err = sqliteOptions(u, Options{})
	} else {
		_, err = postgresOptions(u, Options{})
	}
	return err
}

// HasPassword reports whether a text is a URL with a password.
func HasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return false
	}
	_, given := u.User.Password()
	return given || namesPassword(u.RawQuery)
}

// namesPassword reports whether a parameter of a URL, or one among them, is a secret.
func namesPassword(name string) bool { return strings.Contains(strings.ToLower(name), "password") }

// hidden takes the place of a password.
const hidden = "xxxxx"

// Redacted returns a URL without its password, for messages.
func Redacted(rawURL string) string {
	if IsEtcd(rawURL) {
		return redactedEtcd(rawURL)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme == "" {
		return "(not a URL)"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		u.RawQuery = hidden
		return u.Redacted()
	}
	secret := false
	for name := range query {
		if namesPassword(name) {
			query.Set(name, hidden)
			secret = true
		}
	}
	if secret {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

const (
	schemeSQLite  = "sqlite"
	schemeEtcd    = "etcd"
	schemeEtcdTLS = "etcds"
)

// urlForm is the remedy in errors about URLs.
const urlForm = "use sqlite:///path/to/file.db or postgres://user@host/name"

func parse(rawURL string) (*url.URL, error) {
	if rawURL == "" {
		return nil, errors.New("no database was named: " + urlForm)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		// The parser's own error would repeat the URL, password included.
		return nil, errors.New("the database URL can't be parsed: percent-encode special characters in user and password")
	}
	switch u.Scheme {
	case schemeSQLite, "postgres", "postgresql":
		return u, nil
	case "":
		// Not quoted: it may be a connection string with a password in it.
		return nil, errors.New("the database URL has no scheme: " + urlForm)
	}
	return nil, fmt.Errorf("unknown database scheme %q: "+urlForm, u.Scheme)
}

// IsFile reports whether a URL is of a database that one process has for itself.
func IsFile(rawURL string) bool {
	scheme, _, _ := strings.Cut(rawURL, ":")
	return strings.EqualFold(scheme, schemeSQLite)
}
