// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// Rows implements engine.Questions.
func (m *Model) Rows(ctx context.Context, q engine.RowQuery) (engine.RowPage, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.RowPage{}, err
	}
	defer unlock()
	if err := q.Check(); err != nil {
		return engine.RowPage{}, fmt.Errorf("read results: %w", err)
	}
	page := engine.RowPage{State: m.state}
	for _, p := range m.reports(q.Kinds, q.Namespace) {
		rows := selectRows(p, q.Filter)
		if !q.Behind(placeOf(p)) || len(rows) == 0 {
			continue
		}
		if len(page.Rows) >= q.Limit {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, rows...)
	}
	return page, nil
}

// RowsAbout implements engine.Questions.
func (m *Model) RowsAbout(ctx context.Context, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.RowPage{}, err
	}
	defer unlock()
	page := engine.RowPage{State: m.state}
	for _, p := range m.reports(kinds, &namespace) {
		page.Rows = append(page.Rows, slices.DeleteFunc(selectRows(p, nil), func(row engine.ResultRow) bool {
			return row.Subject == nil || row.Subject.ID() != id
		})...)
	}
	return page, nil
}

// In makes the model one of several in a database.
func (m *Model) In(database map[string]*Model) *Model {
	m.database = database
	return m
}

// neighbour returns the model of another cluster.
func (m *Model) neighbour(cluster string) (*Model, error) {
	if other := m.database[cluster]; other != nil {
		return other.Reopened(), nil
	}
	return nil, engine.UnknownCluster(cluster)
}

// Clusters implements engine.Questions.
func (m *Model) Clusters(_ context.Context, kinds []engine.ReportKind) ([]engine.Cluster, error) {
	var clusters []engine.Cluster
	for _, name := range slices.Sorted(maps.Keys(m.database)) {
		one := engine.Cluster{Name: name, FirstSeen: m.now(), Changed: m.now()}
		if m.database[name] == m {
			one.Servers = 1
		}
		for at, object := range m.database[name].objects {
			if slices.ContainsFunc(kinds, func(kind engine.ReportKind) bool { return kind.Resource == at.resource }) {
				one.Reports++
			}
			if object.report != nil {
				one.Results += int64(len(object.report.Results))
			}
		}
		clusters = append(clusters, one)
	}
	return clusters, nil
}

// Count implements engine.Questions.
func (m *Model) Count(ctx context.Context, q engine.CountQuery) (engine.Counts, error) {
	if q.Cluster != "" {
		other, err := m.neighbour(q.Cluster)
		if err != nil {
			return engine.Counts{}, err
		}
		q.Cluster = ""
		return other.Count(ctx, q)
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Counts{}, err
	}
	defer unlock()
	if err := q.Check(); err != nil {
		return engine.Counts{}, fmt.Errorf("count results: %w", err)
	}
	groups := map[string]*group{}
	if len(q.By) == 0 {
		groups[""] = &group{}
	}
	for _, p := range m.reports(q.Kinds, q.Namespace) {
		for _, row := range selectRows(p, q.Filter) {
			var values []string
			for _, field := range q.By {
				values = append(values, textOf(row, field))
			}
			key := strings.Join(values, "\x00")
			if groups[key] == nil {
				groups[key] = &group{count: engine.Count{Values: values}}
			}
			groups[key].add(row)
		}
	}
	var counts []engine.Count
	for _, g := range groups {
		counts = append(counts, g.answer(q))
	}
	answer := q.Answer(counts)
	answer.State = m.state
	return answer, nil
}

// group is what rows are counted by that agree in some fields.
type group struct {
	count                                   engine.Count
	subjects, namespaces, policies, sources map[string]bool
}

func (g *group) add(row engine.ResultRow) {
	if g.subjects == nil {
		g.subjects, g.namespaces, g.policies, g.sources = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	g.count.Results++
	g.policies[row.Verdict.Policy], g.sources[row.Verdict.Source] = true, true
	g.namespaces[row.Report.Namespace] = true
	if row.Subject != nil {
		g.subjects[fmt.Sprintf("%q", *row.Subject)] = true
	}
	if row.Seconds == 0 {
		return
	}
	if g.count.Oldest == 0 || row.Seconds < g.count.Oldest {
		g.count.Oldest = row.Seconds
	}
	if g.count.Newest == 0 || row.Seconds > g.count.Newest {
		g.count.Newest = row.Seconds
	}
}

func (g *group) answer(q engine.CountQuery) engine.Count {
	count := g.count
	if q.Subjects {
		count.Subjects = int64(len(g.subjects))
	}
	if q.Namespaces {
		count.Namespaces = int64(len(g.namespaces))
	}
	if q.Policies {
		count.Policies = int64(len(g.policies))
	}
	if q.Sources {
		count.Sources = int64(len(g.sources))
	}
	if !q.Times {
		count.Oldest, count.Newest = 0, 0
	}
	return count
}

// reports returns the reports of some kinds and a namespace, in the order of Rows.
func (m *Model) reports(kinds []engine.ReportKind, namespace *string) []*engine.Projection {
	var found []*engine.Projection
	for at, object := range m.objects {
		p := object.report
		if p == nil || namespace != nil && p.Namespace != *namespace {
			continue
		}
		if slices.Contains(kinds, engine.ReportKind{Kind: p.Kind, Resource: at.resource}) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *engine.Projection) int { return placeOf(a).Compare(placeOf(b)) })
	return found
}

func placeOf(p *engine.Projection) engine.ReportPlace {
	return engine.ReportPlace{Namespace: p.Namespace, Kind: p.Kind, Name: p.Name}
}

// selectRows returns the rows of a report that a filter selects, in order.
func selectRows(p *engine.Projection, filter *engine.Filter) []engine.ResultRow {
	report := &engine.ReportRow{ReportPlace: placeOf(p), UID: p.UID, CreatedAt: p.CreatedAt}
	var rows []engine.ResultRow
	for _, result := range p.Results {
		if result.Subject == nil {
			result.Subject = p.Scope
		}
		row := engine.ResultRow{Report: report, Result: result}
		if filter.Match(func(f engine.Field) string { return textOf(row, f) }, result.Seconds) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b engine.ResultRow) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(subjectID(a), subjectID(b)), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return rows
}

func subjectID(row engine.ResultRow) int64 {
	if row.Subject == nil {
		return 0
	}
	return row.Subject.ID()
}

// textOf returns the text of a field.
func textOf(row engine.ResultRow, field engine.Field) string {
	if name, ok := field.Property(); ok {
		return row.Verdict.Property(name)
	}
	s, v := engine.Subject{}, row.Verdict
	if row.Subject != nil {
		s = *row.Subject
	}
	switch field {
	case engine.FieldNamespace:
		return row.Report.Namespace
	case engine.FieldReportKind:
		return row.Report.Kind
	case engine.FieldReport:
		return row.Report.Name
	case engine.FieldReportUID:
		return row.Report.UID
	case engine.FieldCreated:
		return strconv.FormatInt(row.Report.CreatedAt, 10)
	case engine.FieldSource:
		return v.Source
	case engine.FieldPolicy:
		return v.Policy
	case engine.FieldRule:
		return v.Rule
	case engine.FieldCategory:
		return v.Category
	case engine.FieldSeverity:
		return v.Severity
	case engine.FieldResult:
		return v.Result
	case engine.FieldScored:
		return strconv.FormatBool(v.Scored)
	case engine.FieldMessage:
		return strings.NewReplacer("\x01", s.Name, "\x02", s.Namespace, "\x03", s.UID).Replace(v.Message)
	case engine.FieldTemplate:
		return engine.Template(v.Message)
	case engine.FieldDay:
		return engine.Day(row.Seconds)
	case engine.FieldSubjectAPIVersion:
		return s.APIVersion
	case engine.FieldSubjectKind:
		return s.Kind
	case engine.FieldSubjectNamespace:
		return s.Namespace
	case engine.FieldSubjectName:
		return s.Name
	case engine.FieldSubjectUID:
		return s.UID
	default:
		panic("no text: " + field)
	}
}
