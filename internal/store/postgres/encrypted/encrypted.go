// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encrypted decides whether a connection to PostgreSQL may go over a network.
package encrypted

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Check refuses connections to other hosts that may be unencrypted, unless the URL or PGSSLMODE says so: PostgreSQL's
// default, prefer, takes whatever the other side offers. config is what pgx has made of the URL.
func Check(rawURL string, config *pgx.ConnConfig) error {
	host := ""
	if config.TLSConfig == nil && !isLocal(config.Host) {
		host = config.Host
	}
	for _, fallback := range config.Fallbacks {
		if fallback.TLSConfig == nil && !isLocal(fallback.Host) {
			host = fallback.Host
		}
	}
	if host == "" || os.Getenv("PGSSLMODE") != "" {
		return nil
	}
	if u, err := url.Parse(rawURL); err == nil && u.Query().Get("sslmode") != "" {
		return nil
	}
	return fmt.Errorf("database URL: without sslmode the connection to %s is unencrypted whenever the other side says so: "+
		"add sslmode=verify-full (and sslrootcert=FILE), or sslmode=require, which does not verify the server; "+
		"in a network that you trust sslmode=disable", host)
}

// isLocal reports whether a host is this one: a socket, or a loopback address.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback()
}
