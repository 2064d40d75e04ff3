// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/questions"
)

// rareErrors are reports of which every seventh has a result that is an error, and every tenth many results.
func rareErrors(n int64) []engine.Op {
	var ops []engine.Op
	for i := range n {
		op := enginetest.Report(i + 1)
		results := op.Projection.Results
		if i%10 == 0 {
			results = slices.Concat(results, results, results)
		}
		if i%7 == 0 {
			verdict := *results[3].Verdict
			verdict.Result = "error"
			results[3].Verdict = &verdict
		}
		for index := range results {
			results[index].Index = int32(index)
		}
		op.Projection.Results = results
		ops = append(ops, op)
	}
	return ops
}

// commitPrepared commits ops, and before it the rows of large reports.
func commitPrepared(t *testing.T, e *Engine, ops []engine.Op) {
	t.Helper()
	for i := range ops {
		release := testkit.Must(e.Prepare(t.Context(), &ops[i]))(t)
		defer release()
	}
	testkit.Must(e.Commit(t.Context(), ops))(t)
}

// TestReading: the same rows are found in whatever way reports are read, large ones included.
func TestReading(t *testing.T) {
	t.Parallel()
	e := openQuestions(t)
	e.largeReport = 20
	ops := rareErrors(150)[1:] // Without the first, which is there.
	commitPrepared(t, e, ops)
	windows := make([]questions.Window, 0, 40)
	for i := range 40 {
		namespace := fmt.Sprintf("team-%02d", i)
		windows = append(windows, questions.Window{
			Place: questions.Place{Namespace: namespace, Kind: "PolicyReport"}, Resource: ops[0].Resource, From: namespace + "/", To: namespace + "0",
		})
	}
	errs := engine.Equal(engine.FieldResult, "error")
	for name, filter := range map[string]*engine.Filter{
		"errors": errs, "errors and others": engine.Negate(engine.Equal(engine.FieldPolicy, "require-something-3")),
		"errors about":         engine.Both(errs, engine.Negate(engine.Equal(engine.FieldSubjectName, "x"))),
		"errors with messages": engine.Both(errs, &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"1"}}),
		"nothing":              engine.Equal(engine.FieldResult, "x"),
	} {
		for _, limit := range []int{1, 5, 1000} {
			read := func(how reading) (rows []questions.Row) {
				testkit.NoError(t, e.ask(t.Context(), "", func(s *resultReader) error {
					in, err := s.windows(windows)
					if err != nil {
						return err
					}
					sql := newQuestion()
					sql.addRows(s.cluster, in, questions.Condition{Filter: filter}, limit, how)
					rows, err = s.readRows(sql)
					return err
				}))
				return rows
			}
			want := read(named)
			if (len(want) == 0) != (name == "nothing") {
				t.Errorf("%s: %d rows", name, len(want))
			}
			for _, how := range []reading{allOfThem, byEntries} {
				testkit.NoDiff(t, cmp.Diff(want, read(how)), "%s, limit %d, read in the way %d (-want +got)", name, limit, how)
			}
		}
	}
}

// TestReadingByEntries: it takes few entries beside the rows that would be read.
func TestReadingByEntries(t *testing.T) {
	t.Parallel()
	e := openQuestions(t)
	commitPrepared(t, e, rareErrors(60)[1:]) // 1,020 results, and those of five reports twice more.
	for _, test := range []struct {
		entries int64
		limit   int
		want    reading
	}{{0, 10, allOfThem}, {50, 10, byEntries}, {500, 10, allOfThem}, {500, 1000, byEntries}, {50, noLimit, allOfThem}} {
		testkit.NoError(t, e.ask(t.Context(), "", func(s *resultReader) error {
			got, err := s.reading(questions.Condition{Entries: test.entries}, test.limit)
			if err == nil && got != test.want {
				t.Errorf("%d entries, limit %d: got %d, want %d", test.entries, test.limit, got, test.want)
			}
			return err
		}))
	}
}
