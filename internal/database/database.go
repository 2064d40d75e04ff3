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
	// PasswordFile holds the password for PostgreSQL in its first line. It is
	// read for each connection. Optional.
	PasswordFile string
	// MaxConns is the largest number of PostgreSQL connections for reads; 0 is
	// the engine's default.
	MaxConns int
	// ConnectTimeout is how long to wait for a server that doesn't answer; 0 is
	// as long as the context allows.
	ConnectTimeout time.Duration
	// Logger for what happens in the background; nil for silence.
	Logger *slog.Logger
}

// Open opens the database that a URL names:
//
//	sqlite:///path/to/file.db?synchronous=full|normal
//	postgres://user@host:port/name?sslmode=verify-full
//
// Its errors name no password. The engine must be closed.
func Open(ctx context.Context, rawURL string, options Options) (engine.Engine, error) {
	u, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "sqlite" {
		o, err := sqliteOptions(u, options)
		if err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, o)
	}
	return postgres.Open(ctx, postgres.Options{
		URL: rawURL, PasswordFile: options.PasswordFile, Cluster: options.Cluster, MaxConns: options.MaxConns,
		ConnectTimeout: options.ConnectTimeout, Logger: options.Logger,
	})
}

// Validate says what is wrong with a URL, without opening anything.
func Validate(rawURL string) error {
	u, err := parse(rawURL)
	if err != nil || u.Scheme != "sqlite" {
		return err
	}
	_, err = sqliteOptions(u, Options{})
	return err
}

// Redacted returns a URL without its password, for messages.
func Redacted(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(not a URL)"
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}

func parse(rawURL string) (*url.URL, error) {
	if rawURL == "" {
		return nil, errors.New("no database was named: use sqlite:///path/to/file.db or postgres://user@host/name")
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		// The parser's own error would repeat the URL, password included.
		return nil, errors.New("the database URL can't be parsed: percent-encode special characters in user and password")
	}
	switch u.Scheme {
	case "sqlite", "postgres", "postgresql":
		return u, nil
	case "etcd":
		return nil, errors.New("etcd:// is not supported yet: use sqlite:///path/to/file.db or postgres://user@host/name")
	case "":
		return nil, fmt.Errorf("database %q has no scheme: use sqlite:///path/to/file.db or postgres://user@host/name", Redacted(rawURL))
	}
	return nil, fmt.Errorf("unknown database scheme %q: use sqlite:///path/to/file.db or postgres://user@host/name", u.Scheme)
}

func sqliteOptions(u *url.URL, options Options) (sqlite.Options, error) {
	path := u.Path
	if u.Host != "" {
		return sqlite.Options{}, fmt.Errorf("sqlite://%s%s names a host: a path needs three slashes, sqlite:///%s%s", u.Host, path, u.Host, path)
	}
	if path == "" || strings.HasSuffix(path, "/") {
		return sqlite.Options{}, errors.New("the sqlite URL names no file: use sqlite:///path/to/file.db")
	}
	o := sqlite.Options{Path: path, Cluster: options.Cluster}
	for name, values := range u.Query() {
		if name != "synchronous" {
			return sqlite.Options{}, fmt.Errorf("unknown parameter %q in the sqlite URL: only synchronous=full or synchronous=normal is known", name)
		}
		switch strings.ToLower(values[0]) {
		case "full":
			o.Synchronous = sqlite.Full
		case "normal":
			o.Synchronous = sqlite.Normal
		default:
			return sqlite.Options{}, fmt.Errorf("synchronous=%s in the sqlite URL: use full or normal", values[0])
		}
	}
	return o, nil
}
