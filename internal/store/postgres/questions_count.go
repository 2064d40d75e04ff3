// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"slices"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// distinct is a number of different values that counts have.
type distinct struct {
	wanted bool
	// name of the number, and the fields whose values are counted.
	name  string
	field engine.Field
}

// distincts are those of reports and verdicts, which counters know as well.
func distincts(of *engine.CountQuery) []distinct {
	return []distinct{
		{of.Namespaces, "namespaces", engine.FieldNamespace}, {of.Policies, "policies", engine.FieldPolicy}, {of.Sources, "sources", engine.FieldSource},
	}
}

// column returns the SQL of a number that counts have, 0 where it is not wanted.
func column(name string, wanted bool, sql string) string {
	if !wanted {
		sql = "0::int8"
	}
	return ", " + sql + " AS " + name
}

// groupBy appends a clause with columns that each begin with a comma.
func (q *question) groupBy(columns string) {
	if columns != "" {
		q.WriteString(" GROUP BY " + strings.TrimPrefix(columns, ", "))
	}
}

// addCounters counts from the counters, which are in tally, and in tally_change what is not moved yet. Both are added
// up before anything else: where the sum is 0, there is nothing.
func (q *question) addCounters(of *engine.CountQuery, f *engine.Filter) {
	inner, keys := columnsOf(of.By, dialect.Counted), names(of.By)
	numbers := column("subjects", false, "")
	twice := false // Grouped by what is counted, and then without that.
	for _, d := range distincts(of) {
		numbers += column(d.name, d.wanted, "count(DISTINCT counted_"+d.name+")")
		if d.wanted {
			twice = true
			inner += ", " + dialect.Counted(d.field) + " AS counted_" + d.name
			keys += ", counted_" + d.name
		}
	}
	part := func(from, table, id, condition string) {
		q.WriteString("SELECT t.results" + inner + " FROM " + from + " t ")
		if confined(f) {
			q.WriteString(ownRow("CROSS", table, "t."+id, "o"))
		} else {
			q.WriteString("JOIN docket." + table + " o ON o.cluster = $1 AND o.id = t." + id)
		}
		q.WriteString(" WHERE " + condition)
		q.Where(f, dialect.Counted)
	}
	q.WriteString("SELECT * FROM (SELECT coalesce(sum(results), 0)::int8 AS results" + numbers + column("oldest", false, "") + column("newest", false, "") + names(of.By) + " FROM (")
	if twice {
		q.WriteString("SELECT sum(results)::int8 AS results" + keys + " FROM (")
	}
	part("docket.tally", "outcome", "outcome", "t.cluster = $1")
	q.WriteString(" UNION ALL ")
	part(`(
	SELECT c.namespace, c.kind, e.verdict, sum(c.times)::int8 AS results FROM docket.tally_change c CROSS JOIN LATERAL unnest(c.verdicts) AS e(verdict)
	WHERE c.cluster = $1 GROUP BY c.namespace, c.kind, e.verdict HAVING sum(c.times) <> 0
)`, "verdict", "verdict", "true")
	q.WriteString(") t")
	if keys != "" {
		q.groupBy(keys)
		q.WriteString(" HAVING sum(results) <> 0")
	}
	if twice {
		q.WriteString(") g")
		q.groupBy(names(of.By))
	}
	q.WriteString(") g")
	q.answer(of)
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
	numbers := column("subjects", of.Subjects, "count(DISTINCT x.subject)")
	for _, d := range distincts(of) {
		numbers += column(d.name, d.wanted, "count(DISTINCT "+dialect.Of(d.field)+")")
		if d.wanted {
			parts |= d.field.Part()
		}
	}
	numbers += column("oldest", of.Times, "coalesce(min(nullif(x.seconds, 0)), 0)") + column("newest", of.Times, "coalesce(max(nullif(x.seconds, 0)), 0)")
	made := slices.ContainsFunc(of.By, isMade)
	columns := dialect.Of
	if made {
		columns = func(field engine.Field) string {
			if isMade(field) {
				return "v.made_" + strconv.Itoa(slices.Index(of.By, field))
			}
			return dialect.Of(field)
		}
	}
	q.WriteString("SELECT * FROM (SELECT count(*) AS results" + numbers + columnsOf(of.By, columns) + " FROM ")
	reports, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	q.addReportResults(reports, confined(f))
	if made {
		others = q.joinMade(of.By, others, confined(f))
		parts &^= engine.PartVerdict // Joined with what is made of it.
	}
	q.joinParts(parts, confined(f))
	q.WriteString(" WHERE true")
	q.Where(others, dialect.Of)
	q.groupBy(names(of.By))
	q.WriteString(") g")
	q.answer(of)
}

// isMade reports whether a field is made of what a verdict has.
func isMade(field engine.Field) bool {
	_, property := field.Property()
	return property || field == engine.FieldTemplate
}

// joinMade joins the verdicts that meet their conditions, with the fields that are made of them: OFFSET 0 has them made
// once for each verdict, and not for each result, unless results are confined. It returns the other conditions.
func (q *question) joinMade(by []engine.Field, f *engine.Filter, confined bool) (others *engine.Filter) {
	if confined {
		q.WriteString(" CROSS JOIN LATERAL (SELECT v.*")
	} else {
		q.WriteString(" JOIN (SELECT v.*")
	}
	for i, field := range by {
		if isMade(field) {
			q.WriteString(", " + q.Column(dialect.Stored)(field) + " AS made_" + strconv.Itoa(i))
		}
	}
	q.WriteString(" FROM docket.verdict v WHERE v.cluster = $1")
	if confined {
		q.WriteString(" AND v.id = x.verdict LIMIT 1) v")
		return f
	}
	verdicts, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartVerdict })
	q.Where(verdicts, dialect.Stored)
	q.WriteString(" OFFSET 0) v ON v.id = x.verdict")
	return others
}

// answer leaves out the counts that don't meet the bounds and those beyond the limit, and puts the others in order, as
// CountQuery.Compare does.
func (q *question) answer(of *engine.CountQuery) {
	with := " WHERE "
	for _, bound := range of.Having {
		q.Add(with+string(bound.Of)+" "+string(bound.Operator)+" ", bound.Number)
		with = " AND "
	}
	var columns []string
	direction := ""
	if of.Descending {
		direction = " DESC"
	}
	switch i := slices.Index(of.By, of.OrderBy); {
	case i >= 0:
		columns = append(columns, "by_"+strconv.Itoa(i)+` COLLATE "C"`+direction)
	case of.OrderBy != "":
		columns = append(columns, string(of.OrderBy)+direction)
	}
	for i := range of.By {
		columns = append(columns, "by_"+strconv.Itoa(i)+` COLLATE "C"`)
	}
	if len(columns) > 0 {
		q.WriteString(" ORDER BY " + strings.Join(columns, ", "))
	}
	q.Add(" LIMIT ", of.Limit+1)
}
