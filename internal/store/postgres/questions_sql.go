// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strconv"
	"strings"

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
type question struct {
	strings.Builder

	args []any
}

func newQuestion(cluster int32) *question { return &question{args: []any{cluster}} }

// add appends SQL and parameters in turns.
func (q *question) add(parts ...any) {
	for i, part := range parts {
		if i%2 == 0 {
			q.WriteString(part.(string))
		} else {
			q.WriteString(q.bind(part))
		}
	}
}

// bind returns the placeholder of a parameter.
func (q *question) bind(value any) string {
	kind := ""
	switch value.(type) {
	case string:
		kind = "::text"
	case int, int64:
		kind = "::int8"
	case []int64:
		kind = "::int8[]"
	}
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args)) + kind
}

// where appends a condition. Texts that the server can't store are in no row.
func (q *question) where(f *engine.Filter, column func(engine.Field) string) {
	if f == nil {
		return
	}
	q.WriteString(" AND (" + storable(f).SQL(engine.Dialect{
		Column: fieldColumns.Binding(column, q.bind), Bind: q.bind,
		Position: func(text, in string) string { return "strpos(" + in + ", " + text + ")" },
		Ends:     func(text, with string) string { return "right(" + text + ", length(" + with + ")) = " + with },
	}) + ")")
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

// fieldColumns are those of results in the dialect of this engine.
var fieldColumns = questions.Columns{
	Bool:     func(column string) string { return "CASE WHEN " + column + " THEN 'true' ELSE 'false' END" },
	Message:  "docket.message(v.message, s.name, s.namespace, s.uid)",
	Template: "docket.message(v.message, '{name}', '{namespace}', '{uid}')",
	Property: func(name string, bind func(any) string) string {
		return "coalesce(nullif(v.properties, '')::jsonb ->> " + bind(name) + ", '')"
	},
	Day: "CASE WHEN x.seconds = 0 THEN '' ELSE to_char(to_timestamp(x.seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD') END",
}

// addPlaces selects places, in order.
func (q *question) addPlaces(counted *engine.Filter, from questions.Place, tallied bool) {
	q.WriteString(`SELECT t.namespace COLLATE "C", t.kind COLLATE "C" FROM (`)
	if tallied {
		places, others := counted.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
		outcomes, _ := others.Select(func(f *engine.Filter) bool { return f.Parts()&engine.PartReport == 0 })
		q.WriteString("SELECT t.namespace, t.kind FROM docket.tally t WHERE t.cluster = $1 AND t.results <> 0")
		q.where(places, fieldColumns.Counted)
		if outcomes != nil {
			q.WriteString(" AND t.outcome IN (SELECT o.id FROM docket.outcome o WHERE o.cluster = $1")
			q.where(outcomes, fieldColumns.Counted)
			q.WriteString(")")
		}
		q.WriteString(" UNION ALL SELECT t.namespace, t.kind FROM docket.tally_change t WHERE t.cluster = $1")
		q.where(places, fieldColumns.Counted)
	} else {
		q.WriteString("SELECT t.namespace, t.kind FROM docket.report t WHERE t.cluster = $1")
	}
	q.add(`) t WHERE (t.namespace COLLATE "C", t.kind COLLATE "C") >= (`, from.Namespace, `, `, from.Kind, `) GROUP BY 1, 2 ORDER BY 1, 2`)
}

// addIDs selects verdicts or subjects that meet a condition.
func (q *question) addIDs(part engine.Part, f *engine.Filter, limit int) {
	if part == engine.PartVerdict {
		q.WriteString("SELECT v.id FROM docket.verdict v WHERE v.cluster = $1")
	} else {
		q.WriteString("SELECT s.id FROM docket.subject s WHERE s.cluster = $1")
	}
	q.where(f, fieldColumns.Stored)
	q.add(" LIMIT ", limit)
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
			q.add(" AND r.namespace || '' = ", *namespace)
		}
	}
	const selected = "SELECT r.namespace, r.kind, r.name FROM "
	switch part {
	case engine.PartVerdict, engine.PartSubject:
		q.WriteString(selected + "docket.report r WHERE ")
		results := resultsWithSubject
		if part == engine.PartVerdict {
			results = resultsWithVerdict
			q.add(reportsWithVerdicts, ids)
		} else {
			q.add(reportsWithScopes, ids, ")")
		}
		reports()
		q.add(" UNION ALL "+selected+"unnest(", ids, ") AS i(id) CROSS JOIN LATERAL ("+results+") x CROSS JOIN LATERAL ("+itsReport+") r WHERE true")
		reports()
	case engine.PartReport:
		q.WriteString(selected + "docket.report r WHERE r.cluster = $1")
		q.where(f, fieldColumns.Of)
	default:
		q.WriteString(selected + "docket.report r CROSS JOIN LATERAL (" + timesOf + ") x WHERE r.cluster = $1")
		q.where(f, fieldColumns.Of)
	}
	q.add(" LIMIT ", limit)
}

// resultsOfReport are the results x of report r: the entries in its row, and those in table result.
const resultsOfReport = `SELECT (e.place - 1)::int4 AS idx, e.verdict, r.scope AS subject, coalesce(r.seconds[e.place], r.result_seconds) AS seconds,
		coalesce(r.ordinals[e.place], 0) AS ordinal
	FROM unnest(r.verdicts) WITH ORDINALITY AS e(verdict, place) WHERE e.verdict <> 0
	UNION ALL SELECT y.idx, y.verdict, y.subject, y.seconds, coalesce(y.ordinal, 0) FROM docket.result y WHERE y.cluster + 0 = $1 AND y.object = r.object`

// pageColumns are what is read of each row, of a report r and a result x.
const (
	pageColumns = "r.object, x.idx, x.seconds, x.verdict, x.ordinal, x.subject"
	pageWidth   = 6 // columns
)

// addRows selects the first rows in some windows, in the order of these and of keys: nested loops without a sort, which
// LIMIT and OFFSET 0 see to. Verdicts that meet their conditions are found first where many reports are read.
func (q *question) addRows(in windowArrays, condition questions.Condition, limit int, many bool) {
	q.add(`SELECT `+pageColumns+`
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
		q.where(verdicts, fieldColumns.Stored)
		q.WriteString(") THEN true END")
	}
	if condition.Subject != nil {
		q.add(" AND x.subject = ", *condition.Subject)
	}
	q.where(others, fieldColumns.Of)
	if limit > 0 {
		q.add(" LIMIT ", limit)
	}
}

// byNumber selects the rows of a table by their numbers, $2.
func byNumber(columns, table, number string) string {
	return "SELECT t." + number + ", " + columns + " FROM unnest($2::int8[]) AS w(number) CROSS JOIN LATERAL (SELECT * FROM docket." + table +
		" WHERE cluster = $1 AND " + number + " = w.number LIMIT 1) t"
}

// What rows share, by its numbers.
var (
	reportsByNumber  = byNumber("t.namespace, t.kind, t.name, t.uid, t.created_at", "report", "object")
	verdictsByNumber = byNumber(verdictTable.list("t."), "verdict", "id")
	subjectsByNumber = byNumber(subjectTable.list("t."), "subject", "id")
)

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
	q.where(reports, fieldColumns.Of)
	q.WriteString(`
	UNION ALL
	SELECT r.object, r.namespace, r.kind, r.name, r.uid, r.created_at, y.idx, y.verdict, y.subject, y.seconds, coalesce(y.ordinal, 0)
	FROM docket.report r ` + own + ` WHERE r.cluster = $1`)
	q.where(reports, fieldColumns.Of)
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
