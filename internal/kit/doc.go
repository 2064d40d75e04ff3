// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit has no code: the packages below it do not depend on reports and could serve any program. cli, settings,
// logs, progress and buildinfo make a command; certificate, connections and atomicfile make a server that is safe to
// expose; manifests reads files of YAML, and sarif prints findings; testkit and testenv are for tests: waiting, ports,
// real PostgreSQL.
//
// Imports: nothing else of ours. Begin at cli.
package kit
