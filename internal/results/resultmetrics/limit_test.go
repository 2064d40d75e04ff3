// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultmetrics

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// manyCounters and limit stand for a large cluster whose operator wants to know it by namespace and policy.
const manyCounters, limit = 100_000, 2000

// many returns a reader of as many counters, without the time that the database takes.
func many() (r *Reader, results int64) {
	c := &counter{counts: make([]engine.Count, manyCounters)}
	for i := range c.counts {
		n := int64(manyCounters - i)
		c.counts[i] = engine.Count{Results: n, Values: []string{
			[]string{"fail", "pass"}[i%2], "high", "kyverno", fmt.Sprintf("policy-%d", i%100), fmt.Sprintf("team-%d", i/100),
		}}
		results += n
	}
	return New(Options{Kinds: noKinds, Questions: c, Labels: []string{"result", "severity", "source", "policy", "report_namespace"}, Series: limit}), results
}

// TestLimit: there are as many series as allowed, and one for each result of the others, no result is lost, and
// counters beyond the limit take no memory.
func TestLimit(t *testing.T) {
	r, want := many()
	run(t, r)
	testkit.Succeeds(t, "the metric", func() error {
		var got float64
		found := scraped(t)
		for _, n := range found {
			got += n
		}
		if len(found) != limit+2 || int64(got) != want {
			return fmt.Errorf("%d series with %.0f results, want %d with %d", len(found), got, limit+2, want)
		}
		return nil
	})
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := r.read(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if allocations > 2*limit {
		t.Errorf("%.0f allocations for %d series", allocations, limit)
	}
}
