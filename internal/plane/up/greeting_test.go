// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"strings"
	"testing"
)

// TestGreeting: the greeting says where the reports are, and how to query them with SQL.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"sqlite:///home/me/a b/docket.db?cache_bytes=1": "Reports are kept in /home/me/a b/docket.db. With SQL:\n\n  sqlite3 -readonly '/home/me/a b/docket.db' 'SELECT * FROM clusters'\n\n",
		"postgres://me:hunter2@db:5432/docket":          "-c 'SELECT * FROM docket.clusters'\n\n",
		"etcd://localhost:2379/docket":                  "Reports are kept in etcd://localhost:2379/docket.\n\n",
	} {
		var out strings.Builder
		greeting{url: "https://127.0.0.1:7443", kubeconfig: "/k", database: url}.print(&out)
		if text := out.String(); !strings.HasSuffix(text, want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s:\n%s", url, text)
		}
	}
	for console, want := range map[string]string{
		"Results: http://127.0.0.1:1/": "Ctrl-C.\n\nResults: http://127.0.0.1:1/\n\nIn another terminal:",
		"":                             "Ctrl-C.\n\nIn another terminal:",
	} {
		var out strings.Builder
		greeting{console: console}.print(&out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("with the line %q of the console:\n%s", console, out.String())
		}
	}
}
