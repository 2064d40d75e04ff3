// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlsclients asks HTTPS servers of tests with programs that are not written in Go. OpenSSL, GnuTLS and
// Java check certificates each in its own way, and refuse some that Go accepts. Only test code imports it.
//
// The programs are Debian's, and installed by [testenv.Need] where they are missing.
package tlsclients
