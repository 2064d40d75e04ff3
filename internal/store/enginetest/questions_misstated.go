// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// testMisstated compares what reports state with what they hold: nothing, the truth, and another number of each outcome.
func testMisstated(t *testing.T, target Target) {
	p := target.pair(t)
	ops := questioned() // Reports without a summary.
	for i, op := range questioned() {
		truthful, exaggerated := *op.Projection, *op.Projection
		sums := held(&truthful)
		truthful.Name, exaggerated.Name = "truthful-"+truthful.Name, fmt.Sprintf("exaggerated-%d", i)
		truthful.Pass, truthful.Fail, truthful.Warn, truthful.Error, truthful.Skip = sums.Pass, sums.Fail, sums.Warn, sums.Error, sums.Skip
		exaggerated.Pass, exaggerated.Fail = sums.Pass, sums.Fail
		*[]*int64{&exaggerated.Pass, &exaggerated.Fail, &exaggerated.Warn, &exaggerated.Error, &exaggerated.Skip}[i%5]++
		ops = append(ops, keyed(&truthful), keyed(&exaggerated))
	}
	p.commit(ops...)
	b, nowhere, odd := "b", "nowhere", "\x00"
	for _, namespace := range []*string{nil, new(string), &b, &nowhere, &odd} {
		for _, kinds := range [][]engine.ReportKind{questionKinds, questionKinds[:1], questionKinds[1:]} {
			q := engine.MisstatedQuery{Kinds: kinds, Namespace: namespace, Limit: 100}
			p.compareMisstated(q)
			q.Filter = engine.Negate(engine.Equal(engine.FieldReport, "r1"))
			p.compareMisstated(q)
		}
	}
	p.walkMisstated()
	for i, op := range ops { // Those that state the truth remain.
		if i%2 == 0 {
			p.commit(engine.Op{Kind: engine.Delete, Resource: op.Resource, Key: op.Key})
		}
	}
	p.walkMisstated()
}

// walkMisstated reads all in pages of two.
func (p pair) walkMisstated() {
	p.Helper()
	q := engine.MisstatedQuery{Kinds: questionKinds, Limit: 2}
	for more := true; more; {
		page := p.compareMisstated(q)
		if more = page.More; more {
			q.After = page.Reports[len(page.Reports)-1].ReportPlace
		}
	}
}

func (p pair) compareMisstated(q engine.MisstatedQuery) engine.MisstatedPage {
	p.Helper()
	got, want := p.misstated(q), p.model.misstated(q)
	p.same(fmt.Sprintf("misstated reports behind %v", q.After), got, want)
	return got
}

func (s session) misstated(q engine.MisstatedQuery) engine.MisstatedPage {
	s.Helper()
	page, err := s.engine.Misstated(s.Context(), q)
	if err != nil {
		s.Fatalf("misstated reports behind %v: %v", q.After, err)
	}
	return page
}

func testRefusedMisstated(t *testing.T, target Target) {
	e := target.open(t)
	for name, q := range map[string]engine.MisstatedQuery{
		"kinds":     {Limit: 1},
		"limit":     {Kinds: questionKinds},
		"filter":    {Kinds: questionKinds, Limit: 1, Filter: engine.Equal(engine.FieldPolicy, "p")},
		"not UTF-8": {Kinds: questionKinds, Limit: 1, After: engine.ReportPlace{Name: "\xff"}},
		"no name":   {Kinds: questionKinds, Limit: 1, After: engine.ReportPlace{Name: "a\x00b"}},
	} {
		if page, err := e.Misstated(t.Context(), q); err == nil {
			t.Errorf("%s: %+v", name, page)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Misstated(ended, engine.MisstatedQuery{Kinds: questionKinds, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}
