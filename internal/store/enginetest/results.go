// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// ResultsSQL reads rows as Results returns them, from the view policy_results, of the cluster of that number in a
// table.
const ResultsSQL = `SELECT namespace || '/' || report || ' ' || CAST(result_index AS text) || ' ' || policy || ' ' || result || ' '
	|| message || ' ' || CASE WHEN properties IS NULL THEN '' ELSE 'properties' END || ' ' || coalesce(subject_kind || '/' || subject_name, '')
FROM %s WHERE cluster = (SELECT name FROM %s WHERE id = %d)`

// CountsSQL reads rows as Counts returns them, from the view policy_namespace_counts, as ResultsSQL does.
const CountsSQL = `SELECT namespace || ' ' || report_kind || ' ' || source || ' ' || policy || ' ' || rule || ' ' || category || ' ' || severity || ' '
	|| result || ' ' || CASE WHEN scored THEN 'scored' ELSE '' END || ' ' || CAST(results AS text)
FROM %s WHERE cluster = (SELECT name FROM %s WHERE id = %d)`

// Results is what an engine has to implement for tests: it reads the rows of results of its cluster,
// not what is known of them, in any order.
type Results interface {
	Results(ctx context.Context) ([]string, error)
	// Counts reads the counters of results, in any order. It fails where they are not kept.
	Counts(ctx context.Context) ([]string, error)
}

func (s session) results() []string {
	s.Helper()
	return s.sorted(Results.Results)
}

func (s session) counts() []string {
	s.Helper()
	return s.sorted(Results.Counts)
}

func (s session) sorted(read func(Results, context.Context) ([]string, error)) []string {
	s.Helper()
	reader, ok := s.engine.(Results)
	if !ok {
		s.Fatalf("%T doesn't implement enginetest.Results", s.engine)
	}
	rows, err := read(reader, s.Context())
	if err != nil {
		s.Fatalf("read results: %v", err)
	}
	slices.Sort(rows)
	return rows
}

// Results implements Results.
func (m *Model) Results(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []string
	for _, object := range m.objects {
		if object.report != nil {
			rows = append(rows, resultRows(object.report)...)
		}
	}
	return rows, nil
}

func resultRows(p *engine.Projection) []string {
	var rows []string
	for _, r := range p.Results {
		var subject, properties string
		if r.Verdict.Properties != "" {
			properties = "properties"
		}
		switch {
		case r.Subject != nil:
			subject = r.Subject.Kind + "/" + r.Subject.Name
		case p.Scope != nil:
			subject = p.Scope.Kind + "/" + p.Scope.Name
		}
		rows = append(rows, strings.Join([]string{
			p.Namespace + "/" + p.Name, fmt.Sprint(r.Index), r.Verdict.Policy, r.Verdict.Result, r.Verdict.Message, properties, subject,
		}, " "))
	}
	return rows
}

// Counts implements Results.
func (m *Model) Counts(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{}
	for _, object := range m.objects {
		if object.report == nil {
			continue
		}
		for _, r := range object.report.Results {
			v, scored := r.Verdict, ""
			if v.Scored {
				scored = "scored"
			}
			counts[strings.Join([]string{
				object.report.Namespace, object.report.Kind, v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, scored,
			}, " ")]++
		}
	}
	rows := make([]string, 0, len(counts))
	for text, n := range counts {
		rows = append(rows, fmt.Sprint(text, " ", n))
	}
	return rows, nil
}
