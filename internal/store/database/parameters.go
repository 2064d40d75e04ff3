// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

func sqliteOptions(u *url.URL, options Options) (sqlite.Options, error) {
	path := u.Path
	switch {
	case u.Host != "" || u.User != nil || u.Opaque != "":
		return sqlite.Options{}, errors.New("the sqlite URL doesn't begin with a path: it needs three slashes, sqlite:///path/to/file.db")
	case path == "" || strings.HasSuffix(path, "/"):
		return sqlite.Options{}, errors.New("the sqlite URL names no file: use sqlite:///path/to/file.db")
	case options.PasswordFile != "":
		return sqlite.Options{}, errors.New("a password file was given, but SQLite has no passwords: leave it out")
	}
	p, err := newParameters(u, "synchronous", "cache_bytes", "max_bytes", "readers")
	if err != nil {
		return sqlite.Options{}, err
	}
	o := sqlite.Options{
		Path: path, Cluster: options.Cluster, Existing: options.Existing, Binding: options.Binding,
		Synchronous: sqlite.Synchronous(strings.ToUpper(p.choice("synchronous", "full", "normal"))),
		CacheBytes:  p.number("cache_bytes", 1<<62),
		MaxBytes:    p.number("max_bytes", 1<<62),
		Readers:     int(p.number("readers", maxConnections)),
	}
	return o, p.err
}

// maxConnections is more than a server should have of one process.
const maxConnections = 10_000

// libpqParameters are those that PostgreSQL's own clients know, and that the driver understands or passes on. Why a
// list: the driver makes a setting of the session of any other, so that a slip in sslmode would go unnoticed.
func libpqParameters() []string {
	return []string{
		"application_name", "channel_binding", "connect_timeout", "dbname", "host", "krbspn", "krbsrvname",
		"max_protocol_version", "min_protocol_version", "options", "passfile", "password", "port", "require_auth",
		"service", "servicefile", "sslcert", "sslcertmode", "sslkey", "sslmode", "sslnegotiation", "sslpassword",
		"sslrootcert", "sslsni", "target_session_attrs", "user",
	}
}

func postgresOptions(u *url.URL, options Options) (postgres.Options, error) {
	if u.Opaque != "" {
		return postgres.Options{}, errors.New("the postgres URL has no slashes: use postgres://user@host/name")
	}
	p, err := newParameters(u, append(libpqParameters(), "max_conns", "synchronous_commit")...)
	if err != nil {
		return postgres.Options{}, err
	}
	o := postgres.Options{
		PasswordFile: options.PasswordFile, Cluster: options.Cluster, Existing: options.Existing, Binding: options.Binding, MaxConns: options.MaxConns,
		ConnectTimeout: options.ConnectTimeout, Waiting: options.Waiting, Logger: options.Logger,
		SynchronousCommit: strings.ToLower(p.choice("synchronous_commit", "on", "remote_write", "remote_apply")),
	}
	if n := p.number("max_conns", maxConnections); n > 0 {
		o.MaxConns = int(n)
	}
	// The rest is for the driver.
	p.values.Del("max_conns")
	p.values.Del("synchronous_commit")
	rest := *u
	rest.RawQuery = p.values.Encode()
	o.URL = rest.String()
	return o, p.err
}

// parameters of a URL. The first error is kept.
type parameters struct {
	scheme string
	values url.Values
	err    error
}

func newParameters(u *url.URL, known ...string) (*parameters, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the parameters of the %s URL can't be parsed: percent-encode special characters", u.Scheme)
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return nil, fmt.Errorf("unknown parameter %q in the %s URL: use one of %s", name, u.Scheme, strings.Join(known, ", "))
		}
		if len(given) > 1 {
			return nil, fmt.Errorf("parameter %s in the %s URL is given %d times: give it once", name, u.Scheme, len(given))
		}
	}
	return &parameters{scheme: u.Scheme, values: values}, nil
}

// choice returns a parameter that has one of some values, in upper or lower case; "" if it is missing.
func (p *parameters) choice(name string, allowed ...string) string {
	value := p.values.Get(name)
	if value != "" && !slices.Contains(allowed, strings.ToLower(value)) && p.err == nil {
		p.err = fmt.Errorf("%s=%s in the %s URL: use %s", name, value, p.scheme, strings.Join(allowed, " or "))
	}
	return value
}

// number returns a parameter that is a whole number from 1 to most; 0 where it is missing.
func (p *parameters) number(name string, most int64) int64 {
	value := p.values.Get(name)
	if value == "" {
		return 0
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if (err != nil || number < 1 || number > most) && p.err == nil {
		p.err = fmt.Errorf("%s=%s in the %s URL: use a whole number from 1 to %d", name, value, p.scheme, most)
	}
	return number
}
