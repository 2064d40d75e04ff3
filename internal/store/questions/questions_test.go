// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// fake has places, and says that few reports have what is asked for, or not. It notes which windows are read.
type fake struct {
	places []questions.Place
	few    []engine.ReportPlace
	// counted is the number of results that a filter selects, 0 for unknown, and ofNamespace that of all in one.
	counted, ofNamespace int64
	read                 []string
	// calls are the parts of results of which few were looked for, and what was counted in all namespaces.
	calls []string
	// condition is the last one, and selection what was to be counted or put in order.
	condition questions.Condition
	selection questions.Selection
	plans     bool
}

// ask is a questions.Ask.
func (f *fake) ask(ctx context.Context, _, _ string, answer func(context.Context, questions.Tables) error) error {
	return answer(ctx, f)
}

func (f *fake) State() engine.State { return engine.State{} }
func (f *fake) Tallied() bool       { return f.counted > 0 || f.ofNamespace > 0 }
func (f *fake) Plans() bool         { return f.plans }

func (f *fake) CountCounters(_ context.Context, _ *engine.CountQuery, filter *engine.Filter) (engine.Counts, error) {
	results := f.ofNamespace
	if _, in := filter.Demands(engine.FieldNamespace); !in {
		f.calls = append(f.calls, "count")
		results = f.counted
	}
	return engine.Counts{Counts: []engine.Count{{Results: results}}}, nil
}

func (f *fake) CountResults(_ context.Context, _ *engine.CountQuery, from questions.Selection) (engine.Counts, error) {
	f.selection = from
	return engine.Counts{}, nil
}

func (f *fake) First(_ context.Context, _ *engine.OrderQuery, from questions.Selection) ([]questions.Row, error) {
	f.selection = from
	return nil, nil
}

func (f *fake) Places(context.Context, *engine.Filter, questions.Place, int) ([]questions.Place, error) {
	return slices.Clone(f.places), nil
}

func (f *fake) Selective(_ context.Context, part engine.Part, _ questions.Condition, _ *string, _ int) ([]engine.ReportPlace, bool, error) {
	f.calls = append(f.calls, fmt.Sprint("part ", part))
	return slices.Clone(f.few), f.few != nil, nil
}

func (f *fake) Read(_ context.Context, windows []questions.Window, condition questions.Condition, _ int) ([]questions.Row, error) {
	f.condition = condition
	for _, w := range windows {
		f.read = append(f.read, fmt.Sprintf("%s %s [%q, %q)", w.Resource, w.Kind, w.From, w.To))
	}
	return nil, nil
}

func TestWindows(t *testing.T) {
	t.Parallel()
	kinds := []engine.ReportKind{{Kind: "A", Resource: "/a/"}, {Kind: "B", Resource: "/b/"}}
	places := []questions.Place{{Namespace: "", Kind: "B"}, {Namespace: "n", Kind: "A"}, {Namespace: "n", Kind: "C"}, {Namespace: "o", Kind: "B"}}
	few := []engine.ReportPlace{{Namespace: "o", Kind: "A", Name: "z"}, {Namespace: "n", Kind: "B", Name: "y"}, {Namespace: "o", Kind: "A", Name: "z"}}
	namespace, fail, web := "m", engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectName, "web")
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
		"a subject in a large namespace": {fake{few: few[:1], ofNamespace: 4001}, engine.RowQuery{Namespace: &namespace, Filter: web}, []string{
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
			if _, err := questions.New(test.source.ask).Rows(t.Context(), test.q); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(test.source.read, test.want) {
				t.Errorf("read\n%q, want\n%q", test.source.read, test.want)
			}
		})
	}
}

// TestNamespaceIsSeparate: a question about a namespace asks nothing that other namespaces make quicker or slower,
// unless the namespace itself has much to read.
func TestNamespaceIsSeparate(t *testing.T) {
	t.Parallel()
	namespace, fail, web := "m", engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectName, "web")
	in := engine.Equal(engine.FieldNamespace, namespace)
	many := &engine.Filter{Operator: engine.Any}
	for range 20 {
		many.Operands = append(many.Operands, fail)
	}
	for name, test := range map[string]struct {
		results int64
		q       engine.RowQuery
		calls   []string
	}{
		"verdicts":                       {9000, engine.RowQuery{Namespace: &namespace, Filter: fail}, nil},
		"verdicts, by a filter":          {9000, engine.RowQuery{Filter: engine.Both(fail, in)}, nil},
		"kinds of subjects":              {9000, engine.RowQuery{Namespace: &namespace, Filter: engine.Equal(engine.FieldSubjectKind, "Pod")}, nil},
		"reports":                        {9000, engine.RowQuery{Namespace: &namespace, Filter: engine.Equal(engine.FieldReportUID, "u")}, nil},
		"a subject, of few":              {4000, engine.RowQuery{Namespace: &namespace, Filter: web}, nil},
		"a subject, of many":             {4001, engine.RowQuery{Namespace: &namespace, Filter: engine.Both(fail, web)}, []string{"part 4"}},
		"what nobody counted":            {0, engine.RowQuery{Namespace: &namespace, Filter: web}, nil},
		"more conditions than are light": {3, engine.RowQuery{Namespace: &namespace, Filter: many}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := fake{few: []engine.ReportPlace{{Namespace: "m", Kind: "A", Name: "z"}}, counted: 5000, ofNamespace: test.results}
			test.q.Kinds, test.q.Limit = []engine.ReportKind{{Kind: "A", Resource: "/a/"}}, 10
			if _, err := questions.New(source.ask).Rows(t.Context(), test.q); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(source.calls, test.calls) || !source.condition.Confined || source.condition.Entries != 0 {
				t.Errorf("asked %q, not %q; condition %+v", source.calls, test.calls, source.condition)
			}
		})
	}
}

// TestWeigh: what is compared is bounded by the results that there are to compare, and what counters know comes first.
func TestWeigh(t *testing.T) {
	t.Parallel()
	namespace, kinds := "m", []engine.ReportKind{{Kind: "A", Resource: "/a/"}}
	messages := func(n int) *engine.Filter {
		filter := &engine.Filter{Operator: engine.Any}
		for range n {
			filter.Operands = append(filter.Operands, &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"x"}})
		}
		return filter
	}
	fail := engine.Equal(engine.FieldResult, "fail")
	for name, test := range map[string]struct {
		source    fake
		namespace *string
		filter    *engine.Filter
		refused   string
	}{
		"few conditions, whatever there is": {fake{counted: 1 << 40}, nil, messages(10), ""},
		"within the budget":                 {fake{counted: 1_000_000}, nil, messages(20), ""},
		"beyond it":                         {fake{counted: 1_000_000}, nil, engine.Both(messages(20), fail), "about 21000000 comparisons with results, most of them with message"},
		"in a small namespace":              {fake{counted: 1_000_000, ofNamespace: 3}, &namespace, messages(400), ""},
		"nobody counted":                    {fake{}, nil, messages(400), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := engine.CountQuery{Kinds: kinds, Namespace: test.namespace, Filter: test.filter, Limit: 1}
			_, err := questions.New(test.source.ask).Count(t.Context(), q)
			var costly *engine.CostlyError
			if errors.As(err, &costly) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %v", err)
			}
			if err == nil && !test.source.selection.Filter.Has(engine.FieldMessage) {
				t.Error("the filter is gone")
			}
		})
	}
	source := fake{plans: true}
	_, err := questions.New(source.ask).Count(t.Context(), engine.CountQuery{Kinds: kinds, Filter: engine.Both(messages(1), fail), Limit: 1})
	want := questions.Selection{Whole: true, Filter: engine.Both(engine.Both(fail, messages(1)), engine.Equal(engine.FieldReportKind, "A"))}
	if diff := cmp.Diff(want, source.selection); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestSelections: what is counted or put in order is read in the way that reads least, unless the engine plans itself.
func TestSelections(t *testing.T) {
	t.Parallel()
	few := []engine.ReportPlace{{Namespace: "m", Kind: "A", Name: "z"}}
	kinds, namespace, policy := []engine.ReportKind{{Kind: "A", Resource: "/a/"}}, "m", engine.Equal(engine.FieldPolicy, "p")
	message := &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"x"}}
	pods := engine.Equal(engine.FieldSubjectKind, "Pod")
	for name, test := range map[string]struct {
		source fake
		q      engine.CountQuery
		want   string
	}{
		"everything":           {fake{}, engine.CountQuery{Subjects: true}, "whole"},
		"few":                  {fake{few: few}, engine.CountQuery{Filter: pods}, "[m/z m/z\x01)"},
		"many":                 {fake{}, engine.CountQuery{Filter: pods}, "whole"},
		"a namespace":          {fake{few: few}, engine.CountQuery{Namespace: &namespace, Filter: pods}, "[m/ m0)"},
		"an engine that plans": {fake{few: few, plans: true, ofNamespace: 1}, engine.CountQuery{Filter: pods}, "whole"},
		"verdicts": {fake{ofNamespace: 1}, engine.CountQuery{Filter: &engine.Filter{Operator: engine.Not, Operands: []*engine.Filter{{
			Operator: engine.In, Field: engine.Property("a"), Values: []string{"b"},
		}}}}, "verdicts"},
		"verdicts, not counted":          {fake{}, engine.CountQuery{By: []engine.Field{engine.FieldTemplate}}, "whole"},
		"verdicts among those of others": {fake{counted: 5}, engine.CountQuery{By: []engine.Field{engine.FieldTemplate}}, "whole"},
		"verdicts with their subjects":   {fake{ofNamespace: 1}, engine.CountQuery{Filter: engine.Both(policy, message), Subjects: true}, "whole"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.q.Kinds, test.q.Limit = kinds, 10
			if _, err := questions.New(test.source.ask).Count(t.Context(), test.q); err != nil {
				t.Fatal(err)
			}
			from := test.source.selection
			got := ""
			switch {
			case from.Verdicts:
				got = "verdicts"
			case from.Whole:
				got = "whole"
			default:
				for _, w := range from.Windows {
					got += "[" + w.From + " " + w.To + ")"
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want == "verdicts" {
				return
			}
			order := engine.OrderQuery{Kinds: kinds, Namespace: test.q.Namespace, Filter: test.q.Filter, OrderBy: engine.FieldSeconds, Limit: 1}
			if _, err := questions.New(test.source.ask).First(t.Context(), order); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(from, test.source.selection); diff != "" {
				t.Errorf("an order reads something else (-count +order):\n%s", diff)
			}
		})
	}
}

// TestEntries: engines hear how many results in all namespaces have verdicts of a kind, if they are many.
func TestEntries(t *testing.T) {
	t.Parallel()
	fail := engine.Equal(engine.FieldResult, "fail")
	places, few := []questions.Place{{Namespace: "m", Kind: "A"}}, []engine.ReportPlace{{Namespace: "m", Kind: "A", Name: "z"}}
	pods := engine.Equal(engine.FieldSubjectKind, "Pod")
	for name, test := range map[string]struct {
		source fake
		q      engine.RowQuery
		want   int64
	}{
		"many":             {fake{places: places, counted: 5000}, engine.RowQuery{Filter: fail}, 5000},
		"few":              {fake{few: few, counted: 3}, engine.RowQuery{Filter: fail}, 0},
		"few subjects":     {fake{few: few, counted: 5000}, engine.RowQuery{Filter: engine.Both(fail, pods)}, 0},
		"many subjects":    {fake{places: places, counted: 5000}, engine.RowQuery{Filter: engine.Both(fail, pods)}, 5000},
		"unknown":          {fake{places: places}, engine.RowQuery{Filter: fail}, 0},
		"other conditions": {fake{places: places, counted: 5000}, engine.RowQuery{Filter: pods}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.q.Kinds, test.q.Limit = []engine.ReportKind{{Kind: "A", Resource: "/a/"}}, 10
			if _, err := questions.New(test.source.ask).Rows(t.Context(), test.q); err != nil {
				t.Fatal(err)
			}
			if entries := test.source.condition.Entries; len(test.source.read) == 0 || entries != test.want {
				t.Errorf("read %q with %d entries, want %d", test.source.read, entries, test.want)
			}
		})
	}
}

// TestVerdicts: a condition on messages is one on templates as well, which templates with a placeholder may always
// meet.
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
