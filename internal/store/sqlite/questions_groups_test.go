// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestManyGroups: an answer is made of as many groups as are allowed, of which few are in memory as they are answered,
// and of no more.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	q := engine.CountQuery{By: []engine.Field{engine.FieldSubjectName}, OrderBy: engine.OrderResults, Descending: true, Limit: 2}
	c := newGroupCounts(&resultReader{}, &q, "", nil)
	add := func(i int) error {
		s, err := c.sums(group{subject: c.subjects.number(fmt.Sprint("s", i))}, "")
		if err == nil {
			s.results += int64(i)
		}
		return err
	}
	for i := range engine.MaxGroups {
		testkit.NoError(t, add(i))
	}
	want := engine.Counts{Counts: []engine.Count{{Values: []string{"s49999"}, Results: 49999}, {Values: []string{"s49998"}, Results: 49998}}, More: true}
	got := c.answer()
	if diff := cmp.Diff(want, got); diff != "" || cap(got.Counts) > 2*cap(want.Counts) {
		t.Errorf("room for %d counts (-want +got):\n%s", cap(got.Counts), diff)
	}
	// The third one that meets the bound is left out long before the last group comes.
	c.q.Having = []engine.Bound{{Of: engine.OrderResults, Operator: engine.AtLeast, Number: 49997}}
	testkit.NoDiff(t, cmp.Diff(want, c.answer()), "bounded (-want +got)")
	if err := add(0); err != nil {
		t.Errorf("a group that is there: %v", err)
	}
	if err := add(engine.MaxGroups); !errors.As(err, new(*engine.CrowdedError)) {
		t.Errorf("one more group: %v", err)
	}
}
