// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// planExample is the namespace in the comment on plan.
type planExample struct {
	*plan

	now time.Time
}

func (x *planExample) report(name string) *reportState {
	id := reportID{api: WGPolicy, reportKey: reportKey{namespace: "n", name: name}}
	if name == "o" {
		id.api = OpenReports
	}
	return x.stateOf(id)
}

// changed has the layout say that reports with these names have changed, of which it has those of has.
func (x *planExample) changed(has []string, moves []move, names ...string) {
	x.layout.mu.Lock()
	x.layout.chunks = map[reportKey]*chunk{}
	for _, name := range has {
		x.layout.chunks[reportKey{namespace: "n", name: name}] = &chunk{}
	}
	x.layout.mu.Unlock()
	taken := newChanges()
	for _, name := range names {
		taken.reports[reportKey{namespace: "n", name: name}] = span{first: x.now, last: x.now}
	}
	taken.moves = moves
	x.apply(taken)
}

// begin has all reports that may be written begun.
func (x *planExample) begin() {
	x.now = x.now.Add(time.Hour)
	for rs, _ := x.pick(x.now); rs != nil; rs, _ = x.pick(x.now) {
		x.start(rs)
	}
}

// end ends the write of a generation of a report.
func (x *planExample) end(name string, generation uint64, err error) {
	rs := x.report(name)
	if err == nil {
		rs.exists = !x.isObsolete(rs)
	}
	x.finish(rs, generation, err)
}

// row is a line of the table: for each report, the generation that it has, the one that the server has, and where
// it is.
func (x *planExample) row() string {
	row := ""
	for _, name := range []string{"a", "b", "o"} {
		api := WGPolicy
		if name == "o" {
			api = OpenReports
		}
		rs := x.reports[reportID{api: api, reportKey: reportKey{namespace: "n", name: name}}]
		row += name + ": "
		switch {
		case rs == nil:
			row += "-"
		case rs.busy:
			row += fmt.Sprintf("%d/%d busy", rs.generation, rs.written)
		case rs.place > 0:
			row += fmt.Sprintf("%d/%d queued", rs.generation, rs.written)
		case rs.dirty:
			row += fmt.Sprintf("%d/%d held", rs.generation, rs.written)
		default:
			row += fmt.Sprintf("%d/%d", rs.generation, rs.written)
		}
		row += "; "
	}
	return row + fmt.Sprint(len(x.gates))
}

// TestPlanExample goes through the table in the comment on plan.
func TestPlanExample(t *testing.T) {
	t.Parallel()
	layout, _ := newTestLayout(Options{Split: true})
	x := &planExample{plan: newTestPlan(layout), now: start}
	o := x.report("o")
	o.exists, o.unwanted = true, true
	refused := apierrors.NewInternalError(errors.New("a webhook fails"))
	toB := []move{{from: reportKey{namespace: "n", name: "a"}, to: reportKey{namespace: "n", name: "b"}}}
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"o is loaded", func() {}, "a: -; b: -; o: 0/0; 0"},
		{"the scan finds results of a", func() { x.changed([]string{"a"}, nil, "a") }, "a: 1/0 queued; b: -; o: 0/0; 0"},
		{"the layout is pruned", func() { x.pruned = true; x.pruneUnwanted() }, "a: 1/0 queued; b: -; o: 1/0 queued; 1"},
		{"both are due", x.begin, "a: 1/0 busy; b: -; o: 1/0 held; 1"},
		{"a changes meanwhile", func() { x.changed([]string{"a"}, nil, "a") }, "a: 2/0 busy; b: -; o: 1/0 held; 1"},
		{"a is written", func() { x.end("a", 1, nil) }, "a: 2/1 queued; b: -; o: 1/0 queued; 0"},
		{"both are due", x.begin, "a: 2/1 busy; b: -; o: 1/0 busy; 0"},
		{"both are written", func() { x.end("a", 2, nil); x.end("o", 1, nil) }, "a: 2/2; b: -; o: -; 0"},
		{"the results move to b", func() { x.changed([]string{"b"}, toB, "a", "b") }, "a: 3/2 queued; b: 1/0 queued; o: -; 0"},
		{"both are due", x.begin, "a: 3/2 held; b: 1/0 busy; o: -; 0"},
		{"b is refused", func() { x.end("b", 1, refused) }, "a: 3/2 queued; b: 2/0 queued; o: -; 0"},
		{"both are due", x.begin, "a: 3/2 held; b: 2/0 busy; o: -; 0"},
		{"b is written", func() { x.end("b", 2, nil) }, "a: 3/2 queued; b: 2/2; o: -; 0"},
		{"a is deleted", func() { x.begin(); x.end("a", 3, nil) }, "a: -; b: 2/2; o: -; 0"},
		{"somebody changes b", func() { x.recheck(x.report("b")) }, "a: -; b: 3/2 queued; o: -; 0"},
		{"b is repaired", func() { x.begin(); x.end("b", 3, nil) }, "a: -; b: 3/3; o: -; 0"},
	} {
		step.do()
		if diff := cmp.Diff(step.want, x.row()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}
