// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/database"
)

func TestOpenRefusesBadURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, want string }{
		{"", "no database was named"},
		{"/var/lib/docket.db", "has no scheme"},
		{"mysql://x/y", `unknown database scheme "mysql"`},
		{"sqlite://docket.db", "needs three slashes"},
		{"sqlite:///", "names no file"},
		{"sqlite:///x.db?mode=ro", `unknown parameter "mode"`},
		{"sqlite:///x.db?synchronous=off", "use full or normal"},
		{"postgres://user:se%cret@host/db", "can't be parsed"},
	} {
		_, err := database.Open(t.Context(), c.url, database.Options{Cluster: "c"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q): %v, want %q", c.url, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "se%cret") {
			t.Errorf("Open(%q) tells the password: %v", c.url, err)
		}
		if err := database.Validate(c.url); err == nil {
			t.Errorf("Validate(%q) found nothing wrong", c.url)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:secret@h/d", "postgres://h/d?password=secret", "postgres://u:se%cret@h"} {
		if got := database.Redacted(url); strings.Contains(got, "secret") || strings.Contains(got, "se%cret") {
			t.Errorf("Redacted(%q) = %q", url, got)
		}
	}
}
