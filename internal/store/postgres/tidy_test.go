// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

func openCluster(t *testing.T, url, cluster string) *Engine {
	t.Helper()
	e := testkit.Must(Open(t.Context(), Options{URL: url, Cluster: cluster}))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func committed(t *testing.T, e *Engine, op engine.Op) engine.Revision {
	t.Helper()
	batch, err := e.Commit(t.Context(), []engine.Op{op})
	if err != nil || batch.Outcomes[0].Revision == 0 {
		t.Fatalf("%+v %v", batch, err)
	}
	return batch.State.Revision
}

// verdictIDs returns the IDs of the verdicts of a report, in the order of its results.
func verdictIDs(e *Engine, op engine.Op) []int64 {
	var ids []int64
	for _, r := range op.Projection.Results {
		ids = append(ids, verdictID(e.cluster, r.Verdict))
	}
	slices.Sort(ids)
	return ids
}

// TestReleased: a commit tells which verdicts and subjects its reports no longer refer to, those in
// rows of results as well as those in the row of the report.
func TestReleased(t *testing.T) {
	t.Parallel()
	e := openCluster(t, testenv.Postgres(t).Database(t), "main")
	want := func(when string, verdicts, subjects []int64) {
		t.Helper()
		got := e.released.take(1000)
		slices.Sort(got.verdicts)
		slices.Sort(got.subjects)
		slices.Sort(subjects)
		testkit.NoDiff(t, cmp.Diff([][]int64{slices.Compact(verdicts), subjects}, [][]int64{got.verdicts, got.subjects}), "%s (-want +got)", when)
	}
	op := enginetest.Report(1)
	other := engine.Subject{Kind: "Pod", Name: "other"}
	op.Projection.Results[3].Subject = &other
	revision := committed(t, e, op)
	want("created", []int64{}, []int64{})

	fewer, projection := op, *op.Projection
	projection.Results, projection.Scope = op.Projection.Results[5:], &engine.Subject{Kind: "Pod", Name: "third"}
	fewer.Projection, fewer.Kind, fewer.Expect = &projection, engine.Update, revision
	revision = committed(t, e, fewer)
	gone := op
	gone.Projection = &engine.Projection{Results: op.Projection.Results[:5]}
	want("updated", verdictIDs(e, gone), []int64{op.Projection.Scope.ID(), other.ID()})

	committed(t, e, engine.Op{Kind: engine.Delete, Resource: op.Resource, Key: op.Key, Expect: revision})
	want("deleted", verdictIDs(e, fewer), []int64{projection.Scope.ID()})
}

// TestTidyBesideNeighbour: what another cluster of the database uses costs nothing here, and is kept there. Verdicts
// that many reports of this cluster use are not looked up, either.
func TestTidyBesideNeighbour(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, neighbour := openCluster(t, url, "main"), openCluster(t, url, "neighbour")
	op := enginetest.Report(1)
	committed(t, neighbour, op)
	revision := committed(t, e, op)
	for _, id := range verdictIDs(neighbour, op) {
		if slices.Contains(verdictIDs(e, op), id) {
			t.Fatal("both clusters have the same ids")
		}
	}
	used := enginetest.Report(2)
	used.Projection.Results = op.Projection.Results[:1]
	committed(t, e, used)
	second := used
	second.Key += "-2"
	committed(t, e, second)
	committed(t, e, engine.Op{Kind: engine.Delete, Resource: op.Resource, Key: op.Key, Expect: revision})
	conn := testkit.Must(e.reads.Acquire(t.Context()))(t)
	defer conn.Release()
	tidier := tidier{engine: e}
	testkit.NoError(t, tidier.sample(t.Context()))
	testkit.NoDiff(t, cmp.Diff(map[int64]struct{}{verdictID(e.cluster, op.Projection.Results[0].Verdict): {}}, tidier.common), "what is common (-want +got)")
	testkit.NoError(t, tidier.released(t.Context()))
	for _, c := range []struct {
		engine *Engine
		want   int
	}{{e, 1}, {neighbour, len(op.Projection.Results)}} {
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM docket.verdict WHERE cluster = $1`, c.engine.cluster).Scan(&n); err != nil || n != c.want {
			t.Errorf("cluster %d has %d verdicts, want %d; %v", c.engine.cluster, n, c.want, err)
		}
	}
}
