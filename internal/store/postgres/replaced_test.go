// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// TestReplaced: a server whose folder was put back from a snapshot while it was stopped can't be told from one that
// was only stopped.
func TestReplaced(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	before := commit(t, e, []engine.Op{create("a")}).State
	testkit.NoError(t, e.Close())
	testkit.NoError(t, postgres.Replaced(t.Context(), postgres.Options{URL: url}))
	again := open(t, url, "main")
	goesOn(t, again, leapt(t, again, before), "b")

	empty := testenv.Postgres(t).Database(t)
	if err := postgres.Replaced(t.Context(), postgres.Options{URL: empty}); !errors.Is(err, engine.ErrMissing) {
		t.Errorf("an empty database: %v, want %v", err, engine.ErrMissing)
	}
}
