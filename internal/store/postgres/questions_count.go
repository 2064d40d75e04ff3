// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// addCounters counts from the counters, which are in tally, and in tally_change what is not moved yet.
func (q *question) addCounters(of *engine.CountQuery, f *engine.Filter) {
	inner := columnsOf(of.By, func(field engine.Field) string { return fieldColumns.Counted(field) })
	if of.Namespaces {
		inner += ", t.namespace AS counted_namespace"
	}
	part := func(from string) {
		q.WriteString("SELECT t.results" + inner + " FROM " + from)
		q.where(f, fieldColumns.Counted)
	}
	group := "SELECT sum(results)::int8 AS results, 0::int8 AS subjects, 0::int8 AS namespaces, 0::int8 AS oldest, 0::int8 AS newest"
	q.WriteString("SELECT * FROM (")
	if of.Namespaces {
		q.WriteString("SELECT coalesce(sum(results), 0)::int8 AS results, 0::int8 AS subjects, count(DISTINCT counted_namespace) AS namespaces, 0::int8 AS oldest, 0::int8 AS newest" +
			names(of.By) + " FROM (" + group + names(of.By) + ", counted_namespace FROM (")
	} else {
		q.WriteString("SELECT coalesce(results, 0) AS results, subjects, namespaces, oldest, newest" + names(of.By) + " FROM (" + group + names(of.By) + " FROM (")
	}
	part("docket.tally t JOIN docket.outcome o ON o.cluster = $1 AND o.id = t.outcome WHERE t.cluster = $1")
	q.WriteString(" UNION ALL ")
	part(`(
	SELECT c.namespace, c.kind, e.verdict, sum(c.times)::int8 AS results FROM docket.tally_change c CROSS JOIN LATERAL unnest(c.verdicts) AS e(verdict)
	WHERE c.cluster = $1 GROUP BY c.namespace, c.kind, e.verdict HAVING sum(c.times) <> 0
) t JOIN docket.verdict o ON o.cluster = $1 AND o.id = t.verdict WHERE true`)
	q.WriteString(") t")
	grouped := len(of.By)
	if of.Namespaces {
		q.WriteString(" GROUP BY counted_namespace" + names(of.By) + " HAVING sum(results) <> 0) g")
	} else if grouped > 0 {
		q.WriteString(" GROUP BY " + strings.TrimPrefix(names(of.By), ", ") + " HAVING sum(results) <> 0) g")
	} else {
		q.WriteString(") g")
	}
	if of.Namespaces && grouped > 0 {
		q.WriteString(" GROUP BY " + strings.TrimPrefix(names(of.By), ", "))
	}
	q.WriteString(") g")
	q.order(of)
}

// columnsOf returns the columns of fields as SQL lists them behind others; names are their names from then on.
func columnsOf(by []engine.Field, column func(engine.Field) string) string {
	var list strings.Builder
	for i, field := range by {
		list.WriteString(", " + column(field) + " AS by_" + strconv.Itoa(i))
	}
	return list.String()
}

func names(by []engine.Field) string {
	var list strings.Builder
	for i := range by {
		list.WriteString(", by_" + strconv.Itoa(i))
	}
	return list.String()
}

// addResults counts results.
func (q *question) addResults(of *engine.CountQuery, f *engine.Filter) {
	parts := f.Parts()
	for _, field := range of.By {
		parts |= field.Part()
	}
	column := func(wanted bool, sql string) string {
		if wanted {
			return sql
		}
		return "0::int8"
	}
	q.WriteString("SELECT * FROM (SELECT count(*) AS results, " +
		column(of.Subjects, "count(DISTINCT x.subject)") + " AS subjects, " + column(of.Namespaces, "count(DISTINCT r.namespace)") + " AS namespaces, " +
		column(of.Times, "coalesce(min(nullif(x.seconds, 0)), 0)") + " AS oldest, " + column(of.Times, "coalesce(max(nullif(x.seconds, 0)), 0)") + " AS newest" +
		columnsOf(of.By, fieldColumns.Of) + " FROM ")
	reports, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	// Twice, and not in a join of both: most results are in the rows of their reports.
	q.WriteString(`(
	SELECT r.namespace, r.kind, r.name, r.uid, e.verdict, r.scope AS subject, coalesce(r.seconds[e.place], r.result_seconds) AS seconds
	FROM docket.report r CROSS JOIN LATERAL unnest(r.verdicts) WITH ORDINALITY AS e(verdict, place) WHERE r.cluster = $1 AND e.verdict <> 0`)
	q.where(reports, fieldColumns.Of)
	q.WriteString(`
	UNION ALL
	SELECT r.namespace, r.kind, r.name, r.uid, y.verdict, y.subject, y.seconds
	FROM docket.report r JOIN docket.result y ON y.cluster = $1 AND y.object = r.object WHERE r.cluster = $1`)
	q.where(reports, fieldColumns.Of)
	q.WriteString(`
) x CROSS JOIN LATERAL (SELECT x.namespace, x.kind, x.name, x.uid) r`)
	if parts&engine.PartVerdict != 0 {
		q.WriteString(" JOIN docket.verdict v ON v.cluster = $1 AND v.id = x.verdict")
	}
	if parts&engine.PartSubject != 0 {
		q.WriteString(" LEFT JOIN docket.subject s ON s.cluster = $1 AND s.id = x.subject")
	}
	q.WriteString(" WHERE true")
	q.where(others, fieldColumns.Of)
	if len(of.By) > 0 {
		q.WriteString(" GROUP BY " + strings.TrimPrefix(names(of.By), ", "))
	}
	q.WriteString(") g")
	q.order(of)
}

// order puts counts in order, as CountQuery.Compare does.
func (q *question) order(of *engine.CountQuery) {
	var columns []string
	direction := ""
	if of.Descending {
		direction = " DESC"
	}
	switch of.OrderBy {
	case "":
	case engine.OrderResults, engine.OrderSubjects, engine.OrderNamespaces, engine.OrderOldest, engine.OrderNewest:
		columns = append(columns, string(of.OrderBy)+direction)
	default:
		for i, field := range of.By {
			if field == of.OrderBy {
				columns = append(columns, "by_"+strconv.Itoa(i)+` COLLATE "C"`+direction)
			}
		}
	}
	for i := range of.By {
		columns = append(columns, "by_"+strconv.Itoa(i)+` COLLATE "C"`)
	}
	if len(columns) > 0 {
		q.WriteString(" ORDER BY " + strings.Join(columns, ", "))
	}
	q.add(" LIMIT ", of.Limit+1)
}
