// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

func TestEntryArgs(t *testing.T) {
	t.Parallel()
	type entry struct {
		index   int32
		verdict int64
		seconds int64
		ordinal int32
		taken   bool
	}
	var e entryArgs
	for _, report := range []struct {
		results int
		entries []entry
	}{
		{3, []entry{{0, 11, 5, 0, true}, {1, 12, 5, 1, true}, {2, 11, 5, 0, true}}},
		{0, nil},
		{4, []entry{{1, 21, 7, 2, true}, {3, 22, 8, 0, true}}},
		{2, []entry{{1, 31, 9, 0, true}, {0, 32, 9, 0, true}}},
		{
			3, []entry{
				{0, 41, 0, 0, true},
				{0, 42, 1, 0, false}, // Taken.
				{1, 0, 1, 0, false},  // 0 says that there is none.
				{3, 43, 1, 0, false},
				{-1, 43, 1, 0, false},
				{math.MaxInt32, 43, 1, 0, false},
			},
		},
	} {
		e.start(report.results)
		for _, in := range report.entries {
			result := &engine.Result{Index: in.index, Seconds: in.seconds, Ordinal: in.ordinal}
			if taken := e.take(result, in.verdict); taken != in.taken {
				t.Errorf("entry %+v was taken: %t", in, taken)
			}
		}
		testkit.NoError(t, e.finish())
	}
	got := [][]int64{widen(e.counts), widen(e.firstVerdicts), e.verdicts, e.defaults, widen(e.firstSeconds), e.seconds, widen(e.firstOrdinals), widen(e.ordinals)}
	want := [][]int64{
		{3, 0, 4, 2, 1}, {1, 4, 4, 8, 10},
		{11, 12, 11, 0, 21, 0, 22, 32, 31, 41},
		{5, 0, 7, 9, 0}, {0, 0, 1, 0, 0}, {0, 7, 0, 8},
		{1, 0, 4, 0, 0}, {0, 1, 0, 0, 2, 0, 0},
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "arguments (-want +got)")
}

func widen(in []int32) []int64 {
	out := make([]int64, len(in))
	for i, n := range in {
		out[i] = int64(n)
	}
	return out
}
