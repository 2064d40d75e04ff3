// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestClusterIsBound: the first cluster that uses a share keeps it, and another one is
// told what to do. Guarantee S11.
func TestClusterIsBound(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{
		"sqlite":   (&url.URL{Scheme: "sqlite", Path: filepath.Join(t.TempDir(), "a.db")}).String(),
		"postgres": testenv.Postgres(t).Database(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(cluster string, binding engine.Binding) error {
				e, err := database.Open(t.Context(), location, database.Options{Cluster: cluster, Binding: binding})
				if err != nil {
					return err
				}
				return e.Close()
			}
			refused := func(err error, words ...string) {
				t.Helper()
				if !errors.Is(err, engine.ErrBound) {
					t.Fatalf("got %v, want %v", err, engine.ErrBound)
				}
				for _, word := range words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("the error does not say %q: %v", word, err)
					}
				}
			}
			a, b := engine.Binding{UID: "uid-a"}, engine.Binding{UID: "uid-b"}
			for range 2 {
				testkit.NoError(t, open("team", a))
			}
			refused(open("team", b), "uid-a", "uid-b", "--cluster=auto", "--adopt-cluster=team")
			if err := open("team", engine.Binding{}); err != nil {
				t.Errorf("a command that belongs to no cluster: %v", err)
			}
			if err := open("uid-b", engine.Binding{UID: "uid-b", Auto: true}); err != nil {
				t.Errorf("another share: %v", err)
			}
			if err := open("team", engine.Binding{UID: "uid-c", Adopt: "team"}); err != nil {
				t.Errorf("take it over: %v", err)
			}
			refused(open("team", a), "uid-c")
		})
	}
}
