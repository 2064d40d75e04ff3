// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// fake has places, and says that few reports have what is asked for, or not. It notes which windows are read.
type fake struct {
	places []questions.Place
	few    []engine.ReportPlace
	// counted is the number of results that a filter selects, 0 for unknown; inNamespace that in one, and ofNamespace that of all in it.
	counted, inNamespace, ofNamespace int64
	read                              []string
	// entries are those of the last condition.
	entries int64
}

func (f *fake) Counted(_ context.Context, q engine.CountQuery) (int64, bool, error) {
	n := f.counted
	switch {
	case q.Filter == nil:
		n = f.ofNamespace
	case q.Namespace != nil:
		n = f.inNamespace
	}
	return n, f.counted > 0, nil
}

func (f *fake) Places(context.Context, *engine.Filter, questions.Place, int) ([]questions.Place, error) {
	return slices.Clone(f.places), nil
}

func (f *fake) Few(context.Context, engine.Part, questions.Condition, *string, int) ([]engine.ReportPlace, bool, error) {
	return slices.Clone(f.few), f.few != nil, nil
}

func (f *fake) Read(_ context.Context, windows []questions.Window, condition questions.Condition, _ int) ([]questions.Row, error) {
	f.entries = condition.Entries
	for _, w := range windows {
		f.read = append(f.read, fmt.Sprintf("%s %s [%q, %q)", w.Resource, w.Kind, w.From, w.To))
	}
	return nil, nil
}

func (f *fake) ReadTwins(context.Context, *questions.Twins) ([]questions.Row, error) { return nil, nil }

func TestWindows(t *testing.T) {
	t.Parallel()
	kinds := []engine.ReportKind{{Kind: "A", Resource: "/a/"}, {Kind: "B", Resource: "/b/"}}
	places := []questions.Place{{Namespace: "", Kind: "B"}, {Namespace: "n", Kind: "A"}, {Namespace: "n", Kind: "C"}, {Namespace: "o", Kind: "B"}}
	few := []engine.ReportPlace{{Namespace: "o", Kind: "A", Name: "z"}, {Namespace: "n", Kind: "B", Name: "y"}, {Namespace: "o", Kind: "A", Name: "z"}}
	namespace, fail := "m", engine.Equal(engine.FieldResult, "fail")
	for name, test := range map[string]struct {
		source fake
		q      engine.RowQuery
		want   []string
	}{
		"places": {fake{places: places}, engine.RowQuery{Filter: fail}, []string{
			`/b/ B ["", "\U0010ffff")`, `/a/ A ["n/", "n0")`, `/b/ B ["o/", "o0")`,
		}},
		"many by the counters": {fake{places: places[:1], few: few, counted: 5000}, engine.RowQuery{Filter: fail}, []string{`/b/ B ["", "\U0010ffff")`}},
		"few by the counters":  {fake{places: places, few: few[:1], counted: 3}, engine.RowQuery{Filter: fail}, []string{`/a/ A ["o/z", "o/z\x01")`}},
		"many in other namespaces": {fake{few: few[:1], counted: 9000, inNamespace: 10, ofNamespace: 8000}, engine.RowQuery{Namespace: &namespace, Filter: fail}, []string{
			`/a/ A ["m/", "m0")`, `/b/ B ["m/", "m0")`,
		}},
		"few in a large namespace": {fake{few: few[:1], counted: 9000, inNamespace: 10, ofNamespace: 10_000}, engine.RowQuery{Namespace: &namespace, Filter: fail}, []string{
			`/a/ A ["o/z", "o/z\x01")`,
		}},
		"few in all namespaces": {fake{few: few[:1], counted: 4000, inNamespace: 10, ofNamespace: 20}, engine.RowQuery{Namespace: &namespace, Filter: fail}, []string{
			`/a/ A ["o/z", "o/z\x01")`,
		}},
		"many, of which few have a message": {fake{places: places, few: few[:1], counted: 5000}, engine.RowQuery{
			Filter: engine.Both(fail, &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"x"}}),
		}, []string{`/a/ A ["o/z", "o/z\x01")`}},
		"behind a report": {fake{places: places}, engine.RowQuery{After: engine.ReportPlace{Namespace: "n", Kind: "A", Name: "r"}}, []string{
			`/a/ A ["n/r\x01", "n0")`, `/b/ B ["o/", "o0")`,
		}},
		"from a report on": {
			fake{places: places},
			engine.RowQuery{After: engine.ReportPlace{Namespace: "o", Kind: "B", Name: "r"}, Inclusive: true},
			[]string{`/b/ B ["o/r", "o0")`},
		},
		"a namespace": {fake{}, engine.RowQuery{Namespace: &namespace}, []string{`/a/ A ["m/", "m0")`, `/b/ B ["m/", "m0")`}},
		"a name": {fake{places: places[3:], few: few}, engine.RowQuery{Filter: engine.Equal(engine.FieldReport, "r")}, []string{
			`/b/ B ["o/r", "o/r\x01")`,
		}},
		"few": {fake{places: places, few: few}, engine.RowQuery{Filter: fail}, []string{`/b/ B ["n/y", "n/y\x01")`, `/a/ A ["o/z", "o/z\x01")`}},
		"few, behind a report": {
			fake{places: places, few: few},
			engine.RowQuery{Filter: fail, After: engine.ReportPlace{Namespace: "n", Kind: "B", Name: "y"}},
			[]string{`/a/ A ["o/z", "o/z\x01")`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.q.Kinds, test.q.Limit = kinds, 10
			if _, err := questions.Rows(t.Context(), &test.source, test.q); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(test.source.read, test.want) {
				t.Errorf("read\n%q, want\n%q", test.source.read, test.want)
			}
		})
	}
}

// TestEntries: engines hear how many results in all namespaces have verdicts of a kind, if they are many.
func TestEntries(t *testing.T) {
	t.Parallel()
	namespace, fail := "m", engine.Equal(engine.FieldResult, "fail")
	places, few := []questions.Place{{Namespace: "m", Kind: "A"}}, []engine.ReportPlace{{Namespace: "m", Kind: "A", Name: "z"}}
	pods := engine.Equal(engine.FieldSubjectKind, "Pod")
	for name, test := range map[string]struct {
		source fake
		q      engine.RowQuery
		want   int64
	}{
		"many":                     {fake{places: places, counted: 5000}, engine.RowQuery{Filter: fail}, 5000},
		"many of a namespace":      {fake{counted: 9000, inNamespace: 5000}, engine.RowQuery{Namespace: &namespace, Filter: fail}, 9000},
		"many in other namespaces": {fake{counted: 9000, inNamespace: 10, ofNamespace: 8000}, engine.RowQuery{Namespace: &namespace, Filter: fail}, 9000},
		"few":                      {fake{few: few, counted: 3}, engine.RowQuery{Filter: fail}, 0},
		"few subjects":             {fake{few: few, counted: 5000}, engine.RowQuery{Filter: engine.Both(fail, pods)}, 0},
		"many subjects":            {fake{places: places, counted: 5000}, engine.RowQuery{Filter: engine.Both(fail, pods)}, 5000},
		"unknown":                  {fake{places: places}, engine.RowQuery{Filter: fail}, 0},
		"other conditions":         {fake{places: places, counted: 5000}, engine.RowQuery{Filter: pods}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.q.Kinds, test.q.Limit = []engine.ReportKind{{Kind: "A", Resource: "/a/"}}, 10
			if _, err := questions.Rows(t.Context(), &test.source, test.q); err != nil {
				t.Fatal(err)
			}
			if len(test.source.read) == 0 || test.source.entries != test.want {
				t.Errorf("read %q with %d entries, want %d", test.source.read, test.source.entries, test.want)
			}
		})
	}
}

// TestVerdicts: a condition on messages is one on templates as well, which those with a placeholder may meet in any case.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	message := &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"web"}}
	verdicts, messages, others := questions.Verdicts(engine.Both(engine.Equal(engine.FieldResult, "fail"), message, engine.Equal(engine.FieldSubjectKind, "Pod")))
	for template, want := range map[string]bool{"a web": true, "a db": false, "a \x01": true} {
		got := verdicts.Match(func(field engine.Field) string {
			return map[engine.Field]string{engine.FieldResult: "fail", engine.FieldMessage: template}[field]
		}, 0)
		if got != want {
			t.Errorf("template %q: got %t", template, got)
		}
	}
	if diff := cmp.Diff([]*engine.Filter{message, engine.Equal(engine.FieldSubjectKind, "Pod")}, []*engine.Filter{messages, others}); diff != "" {
		t.Errorf("rows and their messages have to meet other conditions (-want +got):\n%s", diff)
	}
}
