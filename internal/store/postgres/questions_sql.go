// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strconv"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

const (
	questionStateSQL = `SELECT ` + stateColumns + `, r.tallied FROM ` + newestCounter + ` r`

	// localSettingsSQL sets $1 to $2 until the transaction ends.
	localSettingsSQL = `SELECT count(set_config(s.name, s.value, true)) FROM unnest($1::text[], $2::text[]) AS s(name, value)`
)

// question is a statement under way: r is a report, x a result, v its verdict, s its subject, o and t an outcome and
// its counter. $1 is the cluster.
type question struct{ questions.Statement }

func newQuestion(cluster int32) *question {
	return &question{questions.Statement{Dialect: &dialect, Args: []any{cluster}}}
}

// placeholder returns that of a parameter.
func placeholder(n int, value any) string {
	kind := ""
	switch value.(type) {
	case string:
		kind = "::text"
	case int64:
		kind = "::int8"
	case []int64:
		kind = "::int8[]"
	}
	return "$" + strconv.Itoa(n) + kind
}

// storable returns the filter without the values that are no text.
func storable(f *engine.Filter) *engine.Filter {
	out := *f
	out.Operands, out.Values = nil, nil
	for _, operand := range f.Operands {
		out.Operands = append(out.Operands, storable(operand))
	}
	for _, value := range f.Values {
		if isText(value) {
			out.Values = append(out.Values, value)
		}
	}
	if len(f.Values) > 0 && len(out.Values) == 0 {
		return engine.Negate(nil)
	}
	return &out
}

// dialect is how statements are written for this engine. Texts that the server can't store are in no row.
var dialect = questions.Dialect{
	Columns: questions.Columns{
		Bool:     func(column string) string { return "CASE WHEN " + column + " THEN 'true' ELSE 'false' END" },
		Message:  "docket.message(v.message, s.name, s.namespace, s.uid)",
		Template: "docket.message(v.message, '{name}', '{namespace}', '{uid}')",
		Property: func(name string, bind func(any) string) string {
			return "coalesce(nullif(v.properties, '')::jsonb ->> " + bind(name) + ", '')"
		},
		Day: "CASE WHEN x.seconds = 0 THEN '' ELSE to_char(to_timestamp(x.seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD') END",
	},
	Placeholder: placeholder,
	Position:    func(text, in string) string { return "strpos(" + in + ", " + text + ")" },
	Ends:        func(text, with string) string { return "right(" + text + ", length(" + with + ")) = " + with },
	Storable:    storable,
	Collation:   ` COLLATE "C"`,
	Subject:     "x.subject",
}

// addPlaces selects places, in order.
func (q *question) addPlaces(counted *engine.Filter, from questions.Place, tallied bool) {
	q.WriteString(`SELECT t.namespace COLLATE "C", t.kind COLLATE "C" FROM (`)
	if tallied {
		places, others := counted.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
		outcomes, _ := others.Select(func(f *engine.Filter) bool { return f.Parts()&engine.PartReport == 0 })
		q.WriteString("SELECT t.namespace, t.kind FROM docket.tally t WHERE t.cluster = $1 AND t.results <> 0")
		q.Where(places, dialect.Counted)
		if outcomes != nil {
			q.WriteString(" AND t.outcome IN (SELECT o.id FROM docket.outcome o WHERE o.cluster = $1")
			q.Where(outcomes, dialect.Counted)
			q.WriteString(")")
		}
		q.WriteString(" UNION ALL SELECT t.namespace, t.kind FROM docket.tally_change t WHERE t.cluster = $1")
		q.Where(places, dialect.Counted)
	} else {
		q.WriteString("SELECT t.namespace, t.kind FROM docket.report t WHERE t.cluster = $1")
	}
	q.Add(`) t WHERE (t.namespace COLLATE "C", t.kind COLLATE "C") >= (`, from.Namespace, `, `, from.Kind, `) GROUP BY 1, 2 ORDER BY 1, 2`)
}

// addIDs selects verdicts or subjects that meet a condition.
func (q *question) addIDs(part engine.Part, f *engine.Filter, limit int) {
	if part == engine.PartVerdict {
		q.WriteString("SELECT v.id FROM docket.verdict v WHERE v.cluster = $1")
	} else {
		q.WriteString("SELECT s.id FROM docket.subject s WHERE s.cluster = $1")
	}
	q.Where(f, dialect.Stored)
	q.Add(" LIMIT ", limit)
}

// What addSelective looks reports up by. cluster + 0 and namespace || ” keep the plan from indexes by other columns.
const (
	reportsWithVerdicts = "r.cluster + 0 = $1 AND r.verdicts && "
	reportsWithScopes   = "r.cluster = $1 AND r.scope = ANY("
	resultsWithVerdict  = "SELECT y.object FROM docket.result y WHERE y.cluster = $1 AND y.verdict = i.id OFFSET 0"
	resultsWithSubject  = "SELECT y.object FROM docket.result y WHERE y.cluster = $1 AND y.subject = i.id OFFSET 0"
	itsReport           = "SELECT * FROM docket.report WHERE cluster = $1 AND object = x.object LIMIT 1"

	// timesOf are the times of the results of report r.
	timesOf = `SELECT r.result_seconds AS seconds WHERE r.seconds IS NULL AND r.verdicts IS NOT NULL
	UNION ALL SELECT unnest(r.seconds)
	UNION ALL SELECT y.seconds FROM docket.result y WHERE y.cluster = $1 AND y.object = r.object`
)

// addSelective selects the reports of some verdicts or subjects, or those that meet a condition on themselves or on
// times.
func (q *question) addSelective(part engine.Part, f *engine.Filter, ids []int64, namespace *string, limit int) {
	reports := func() {
		if namespace != nil {
			q.Add(" AND r.namespace || '' = ", *namespace)
		}
	}
	const selected = "SELECT r.namespace, r.kind, r.name FROM "
	switch part {
	case engine.PartVerdict, engine.PartSubject:
		q.WriteString(selected + "docket.report r WHERE ")
		results := resultsWithSubject
		if part == engine.PartVerdict {
			results = resultsWithVerdict
			q.Add(reportsWithVerdicts, ids)
		} else {
			q.Add(reportsWithScopes, ids, ")")
		}
		reports()
		q.Add(" UNION ALL "+selected+"unnest(", ids, ") AS i(id) CROSS JOIN LATERAL ("+results+") x CROSS JOIN LATERAL ("+itsReport+") r WHERE true")
		reports()
	case engine.PartReport:
		q.WriteString(selected + "docket.report r WHERE r.cluster = $1")
		q.Where(f, dialect.Of)
	default:
		q.WriteString(selected + "docket.report r CROSS JOIN LATERAL (" + timesOf + ") x WHERE r.cluster = $1")
		q.Where(f, dialect.Of)
	}
	q.Add(" LIMIT ", limit)
}

// resultsOfReport are the results x of report r: the entries in its row, and those in table result.
const resultsOfReport = `SELECT (e.place - 1)::int4 AS idx, e.verdict, r.scope AS subject, coalesce(r.seconds[e.place], r.result_seconds) AS seconds,
		coalesce(r.ordinals[e.place], 0) AS ordinal
	FROM unnest(r.verdicts) WITH ORDINALITY AS e(verdict, place) WHERE e.verdict <> 0
	UNION ALL SELECT y.idx, y.verdict, y.subject, y.seconds, coalesce(y.ordinal, 0) FROM docket.result y WHERE y.cluster + 0 = $1 AND y.object = r.object`

// pageColumns are what is read of each row, of a report r and a result x.
const pageColumns = "r.object, x.idx, x.seconds, x.verdict, x.ordinal, x.subject"

// addRows selects the first rows in some windows, in the order of these and of keys: nested loops without a sort, which
// LIMIT and OFFSET 0 see to. Verdicts that meet their conditions are found first where many reports are read.
func (q *question) addRows(in windowArrays, condition questions.Condition, limit int, many bool) {
	q.Add(`SELECT `+pageColumns+`
FROM unnest(`, in.resources, `::int2[], `, in.from, `::text[], `, in.to, `::text[], `, in.namespaces, `::text[], `, in.kinds, `::text[])
	WITH ORDINALITY AS w(resource, first, behind, namespace, kind, place)
CROSS JOIN LATERAL (
	SELECT created FROM docket.object WHERE cluster = $1 AND resource = w.resource AND key >= w.first AND key < w.behind ORDER BY key OFFSET 0
) o
CROSS JOIN LATERAL (
	SELECT * FROM docket.report WHERE cluster = $1 AND object = o.created LIMIT 1
) r
CROSS JOIN LATERAL (`+resultsOfReport+` OFFSET 0) x`)
	var verdicts *engine.Filter
	others := condition.Filter
	if many {
		var messages *engine.Filter
		verdicts, messages, others = questions.Verdicts(others)
		others = engine.Both(messages, others)
	}
	q.joinParts(others.Parts(), true)
	q.WriteString("\nWHERE r.namespace = w.namespace AND r.kind = w.kind")
	if verdicts != nil {
		// CASE keeps it a set that is made once, which a join is not.
		q.WriteString(" AND CASE WHEN x.verdict IN (SELECT v.id FROM docket.verdict v WHERE v.cluster = $1")
		q.Where(verdicts, dialect.Stored)
		q.WriteString(") THEN true END")
	}
	if condition.Subject != nil {
		q.Add(" AND x.subject = ", *condition.Subject)
	}
	q.Where(others, dialect.Of)
	if limit > 0 {
		q.Add(" LIMIT ", limit)
	}
}

// byNumber selects what rows share of a table, by its numbers, $2.
var byNumber = map[string]string{
	questions.ReportTable:  byNumbers(questions.ReportColumns, "report", "object"),
	questions.VerdictTable: byNumbers(verdictTable.list("t."), "verdict", "id"),
	questions.SubjectTable: byNumbers(subjectTable.list("t."), "subject", "id"),
}

func byNumbers(columns, table, number string) string {
	return "SELECT t." + number + ", " + columns + " FROM unnest($2::int8[]) AS w(number) CROSS JOIN LATERAL (SELECT * FROM docket." + table +
		" WHERE cluster = $1 AND " + number + " = w.number LIMIT 1) t"
}

// addReportResults appends the results x of all reports r that meet a condition. If results are confined, they are
// looked up for each report.
func (q *question) addReportResults(reports *engine.Filter, confined bool) {
	own := "JOIN docket.result y ON y.cluster = $1 AND y.object = r.object"
	if confined {
		own = "CROSS JOIN LATERAL (SELECT * FROM docket.result WHERE cluster + 0 = $1 AND object = r.object OFFSET 0) y"
	}
	// Twice, and not in a join of both: most results are in the rows of their reports.
	q.WriteString(`(
	SELECT r.object, r.namespace, r.kind, r.name, r.uid, r.created_at, (e.place - 1)::int4 AS idx, e.verdict, r.scope AS subject,
		coalesce(r.seconds[e.place], r.result_seconds) AS seconds, coalesce(r.ordinals[e.place], 0) AS ordinal
	FROM docket.report r CROSS JOIN LATERAL unnest(r.verdicts) WITH ORDINALITY AS e(verdict, place) WHERE r.cluster = $1 AND e.verdict <> 0`)
	q.Where(reports, dialect.Of)
	q.WriteString(`
	UNION ALL
	SELECT r.object, r.namespace, r.kind, r.name, r.uid, r.created_at, y.idx, y.verdict, y.subject, y.seconds, coalesce(y.ordinal, 0)
	FROM docket.report r ` + own + ` WHERE r.cluster = $1`)
	q.Where(reports, dialect.Of)
	q.WriteString(`
) x CROSS JOIN LATERAL (SELECT x.object, x.namespace, x.kind, x.name, x.uid, x.created_at) r`)
}

// confined reports whether a condition is on results of some namespaces only. Then nothing is looked at that others
// refer to, whatever statistics say: how long that takes would tell what the others have.
func confined(f *engine.Filter) bool {
	_, confined := f.Demands(engine.FieldNamespace)
	return confined
}

// ownRow joins the one row of a table that has a number, looked up for each row before it.
func ownRow(join, table, number, name string) string {
	return join + " JOIN LATERAL (SELECT * FROM docket." + table + " WHERE cluster = $1 AND id = " + number + " LIMIT 1) " + name
}

// joinParts appends the tables v and s that fields of some parts of results x need. Their rows are looked up for each
// result if results are confined.
func (q *question) joinParts(parts engine.Part, confined bool) {
	if confined {
		if parts&engine.PartVerdict != 0 {
			q.WriteString("\n" + ownRow("CROSS", "verdict", "x.verdict", "v"))
		}
		if parts&engine.PartSubject != 0 {
			q.WriteString("\n" + ownRow("LEFT", "subject", "x.subject", "s") + " ON true")
		}
		return
	}
	if parts&engine.PartVerdict != 0 {
		q.WriteString(" JOIN docket.verdict v ON v.cluster = $1 AND v.id = x.verdict")
	}
	if parts&engine.PartSubject != 0 {
		q.WriteString(" LEFT JOIN docket.subject s ON s.cluster = $1 AND s.id = x.subject")
	}
}
