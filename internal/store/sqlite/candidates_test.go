// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestTidyRemovesAllThatWasDropped: one call removes what nothing refers to any more, however much that is, and
// verdicts and subjects that are stored again later exist.
func TestTidyRemovesAllThatWasDropped(t *testing.T) {
	t.Parallel()
	const results = 6000
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"})
	op := enginetest.LargeReport(1, false)
	op.Projection.Results = op.Projection.Results[:results]
	want := func(when string, verdicts, subjects int64) {
		t.Helper()
		for table, want := range map[string]int64{"verdict": verdicts, "subject": subjects} {
			if n, err := e.CountRows(t.Context(), table); err != nil || n != want {
				t.Errorf("%s there are %d rows in %s, want %d; %v", when, n, table, want, err)
			}
		}
	}
	tidy := func() {
		t.Helper()
		testkit.NoError(t, e.Tidy(t.Context()))
	}
	remove := func(expect engine.Revision) {
		t.Helper()
		commit(t, e, []engine.Op{{Kind: engine.Delete, Resource: op.Resource, Key: op.Key, Expect: expect}})
	}
	commit(t, e, []engine.Op{op})
	tidy()
	want("in use,", results, results+1) // And the report's scope.
	fewer, projection := op, *op.Projection
	projection.Results = append([]engine.Result{projection.Results[results-1]}, projection.Results[1:results/2]...)
	fewer.Projection, fewer.Kind, fewer.Expect = &projection, engine.Update, 2
	commit(t, e, []engine.Op{fewer})
	tidy()
	want("half used,", results/2, results/2+1)
	remove(3)
	tidy()
	want("after the deletion", 0, 0)
	commit(t, e, []engine.Op{op})
	want("written again,", results, results+1)
}
