// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

const older = engine.Resource("/reports/")

// TestOlderProgram: one that keeps terms in table term, and knows no term_key, works with a database, and what it
// wrote is taken over.
func TestOlderProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	options := sqlite.Options{Path: path, Cluster: "main"}
	e := open(t, options)
	created := commit(t, e, []engine.Op{ofTeam("a", 1), ofTeam("b", 1), ofTeam("c", 2), ofTeam("gone", 1)})
	wantTeam(t, e, 1, "a", "b", "gone")
	closeNow(t, e)

	// Its lists don't go by the index: the version of some rows is more than one above its own.
	if highest := count(t, path, "SELECT highest FROM total"); highest <= 2 {
		t.Errorf("the highest version is %d", highest)
	}
	for _, statement := range []string{
		// It creates d, moves b to another team, and deletes an object.
		"INSERT INTO object (cluster, resource, key, revision, created, expires_at, size, codec, data, derived) VALUES (1, 1, 'd', 6, 6, 0, 0, 0, x'', 1)",
		"INSERT INTO event SELECT 1, 6, 1, 'd', 1, 6, 0, 0, 0, NULL, committed_at, total_bytes FROM event WHERE revision = 5",
		"INSERT INTO term (cluster, resource, name, value, created) VALUES (1, 1, 1, 1, 6)",
		"UPDATE object SET revision = 7, derived = 1 WHERE key = 'b'",
		"INSERT INTO event SELECT 1, 7, 1, 'b', 2, 3, 3, 0, 0, x'', committed_at, total_bytes FROM event WHERE revision = 5",
		"INSERT INTO term SELECT cluster, resource, 1, 2, created FROM object WHERE key = 'b'",
		"DELETE FROM object WHERE key = 'gone'",
		"INSERT INTO event SELECT 1, 8, 1, 'gone', 3, 5, 5, 0, 0, x'', committed_at, total_bytes FROM event WHERE revision = 5",
		"UPDATE total SET complete = min(complete, 1), highest = max(highest, 1), mark = 8",
		"UPDATE revision SET revision = 8",
		"INSERT INTO term (cluster, resource, name, value, created) VALUES (2, 1, 1, 1, 6)", // Of another cluster.
	} {
		sqlite.Exec(t, path, statement)
	}

	e = open(t, options)
	if state, err := e.Derivation(t.Context(), older); err != nil || !state.Serves(1) {
		t.Errorf("the index does not serve: %+v, %v", state, err)
	}
	wantTeam(t, e, 1, "a", "b", "d") // b is a candidate: it was of this team.
	wantTeam(t, e, 2, "b", "c")
	moved := engine.Op{Kind: engine.Update, Resource: older, Key: "b", Expect: 7, Index: []engine.Term{{Name: 1, Value: 2}}, Derivation: 1}
	commit(t, e, []engine.Op{moved})
	wantTeam(t, e, 1, "a", "d")
	// The terms of what is gone are there still: they lead nowhere, and are nobody's trouble.
	commit(t, e, []engine.Op{ofTeam("gone", 1)})
	wantTeam(t, e, 1, "a", "d", "gone")
	commit(t, e, []engine.Op{{Kind: engine.Delete, Resource: older, Key: "a", Expect: created.Outcomes[0].Revision}})
	wantTeam(t, e, 1, "d", "gone")
	if n, err := e.CountRows(t.Context(), "term"); err != nil || n != 1 {
		t.Errorf("%d rows in table term, %v; want that of the other cluster", n, err)
	}
	if n, err := e.Dangling(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows are left over, %v", n, err)
	}
}

// TestOlderProgramLeavesNoSpace: a full database opens, lists read all objects, and what an older program wrote is
// taken over when there is space.
func TestOlderProgramLeavesNoSpace(t *testing.T) {
	t.Parallel()
	const objects = 5000
	options := sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}
	e := open(t, options)
	commit(t, e, []engine.Op{ofTeam("a", 1)})
	closeNow(t, e)
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", objects+1)
	for _, statement := range []string{
		numbers + "INSERT INTO object SELECT 1, 1, 'key-' || i, i, i, 0, 0, 0, x'', 1, NULL FROM n",
		numbers + "INSERT INTO event SELECT 1, i, 1, 'key-' || i, 1, i, 0, 0, 0, NULL, 0, 0 FROM n",
		numbers + "INSERT INTO term SELECT 1, 1, 1, i % 2, i FROM n",
		"UPDATE total SET complete = 1, objects = 5000",
		"UPDATE revision SET revision = 5001",
	} {
		sqlite.Exec(t, options.Path, statement)
	}

	options.MaxBytes = 1
	e = open(t, options)
	q := engine.Query{Resource: older, Conditions: []engine.Condition{{Name: 1, Values: []int64{1}}}, Derivation: 1}
	if got := len(keysOfPages(t, e, q)); got != objects {
		t.Errorf("%d objects while nothing is taken over, want all %d", got, objects)
	}
	closeNow(t, e)
	options.MaxBytes = 0
	e = open(t, options)
	if got := len(keysOfPages(t, e, q)); got != objects/2+1 {
		t.Errorf("%d objects when all is taken over, want %d", got, objects/2+1)
	}
	if n, err := e.CountRows(t.Context(), "term"); err != nil || n != 0 {
		t.Errorf("%d rows in table term, %v", n, err)
	}
	if n, err := e.Dangling(t.Context()); err != nil || n != 0 {
		t.Errorf("%d rows are left over, %v", n, err)
	}
}

// ofTeam returns the creation of an object with a term.
func ofTeam(key string, team int64) engine.Op {
	return engine.Op{Kind: engine.Create, Resource: older, Key: key, Index: []engine.Term{{Name: 1, Value: team}}, Derivation: 1}
}

func wantTeam(t *testing.T, e engine.Engine, team int64, want ...string) {
	t.Helper()
	q := engine.Query{Resource: older, Conditions: []engine.Condition{{Name: 1, Values: []int64{team}}}, Derivation: 1}
	if got := keysOfPages(t, e, q); !slices.Equal(got, want) {
		t.Errorf("team %d: %q, want %q", team, got, want)
	}
}

// count opens a file that no engine has open and asks it.
func count(t *testing.T, path, query string) int64 {
	t.Helper()
	n, err := sqlite.Number(t.Context(), path, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
