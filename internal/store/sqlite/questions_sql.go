// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// question is a statement under way: r is a report, x a result, v its verdict, s its subject, o and t an outcome and
// its counter.
type question struct{ questions.Statement }

func newQuestion(args ...any) *question {
	return &question{questions.Statement{Dialect: &dialect, Args: args}}
}

// dialect is how statements are written for this engine.
var dialect = questions.Dialect{
	Columns: questions.Columns{
		Bool: func(column string) string { return "iif(" + column + ", 'true', 'false')" },
		// In quotes, a name is one, whatever it has but quotes and backslashes: engine.CheckProperty.
		Property: func(name string, bind func(any) string) string {
			return "coalesce(nullif(v.properties, '') ->> " + bind(`$."`+name+`"`) + ", '')"
		},
		Template: "replace(replace(replace(v.message, char(1), '{name}'), char(2), '{namespace}'), char(3), '{uid}')",
		Message:  "replace(replace(replace(v.message, char(1), coalesce(s.name, '')), char(2), coalesce(s.namespace, '')), char(3), coalesce(s.uid, ''))",
	},
	Placeholder: func(n int, _ any) string { return "?" + strconv.Itoa(n) },
	Subject:     "coalesce(x.subject, r.scope)",
	// Of bytes, because it is quicker than of characters, and finds the same.
	Position: func(text, in string) string { return "instr(CAST(" + in + " AS BLOB), CAST(" + text + " AS BLOB))" },
	Ends: func(text, with string) string {
		// What substr takes of no bytes is null.
		return fmt.Sprintf("coalesce(substr(CAST(%[1]s AS BLOB), max(1, length(CAST(%[1]s AS BLOB)) - length(CAST(%[2]s AS BLOB)) + 1)), x'') = CAST(%[2]s AS BLOB)", text, with)
	},
}

// addPlaces selects places with their numbers of results, in the order of the primary key of tally.
func (t *question) addPlaces(cluster int64, counted *engine.Filter, from questions.Place) {
	t.Add("SELECT t.namespace, t.kind, sum(t.results) FROM tally AS t WHERE t.cluster = ", cluster, " AND t.results <> 0 AND (t.namespace, t.kind) >= (",
		from.Namespace, ", ", from.Kind, ")")
	t.whereCounted(cluster, counted)
	t.WriteString(" GROUP BY t.namespace, t.kind")
}

// whereCounted appends conditions on a counter. Its outcome is looked up among those that meet theirs; in a namespace,
// only the outcomes there are compared with them.
func (t *question) whereCounted(cluster int64, counted *engine.Filter) {
	places, others := counted.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	t.Where(places, dialect.Counted)
	_, confined := counted.Demands(engine.FieldNamespace)
	outcomes, mixed := others.Select(func(f *engine.Filter) bool { return !confined && f.Parts()&engine.PartReport == 0 })
	if outcomes != nil {
		t.Add(" AND t.outcome IN (SELECT o.id FROM outcome AS o WHERE o.cluster = ", cluster)
		t.Where(outcomes, dialect.Counted)
		t.WriteString(")")
	}
	if mixed != nil {
		t.Add(" AND EXISTS (SELECT 1 FROM outcome AS o WHERE o.cluster = ", cluster, " AND o.id = t.outcome")
		t.Where(mixed, dialect.Counted)
		t.WriteString(")")
	}
}

// Ways to the reports of results, by what is known of these: each table of a way is looked up by an index that has
// what the table before it has. The first one is read as a whole.
var (
	waysTo = map[engine.Part][]string{
		engine.PartVerdict: {
			"verdict AS v CROSS JOIN result AS x INDEXED BY result_verdict ON x.cluster = v.cluster AND x.verdict = v.id AND x.late = 0 " +
				reportOfResult + " WHERE v.cluster = ",
			lateResults + " CROSS JOIN verdict AS v ON v.cluster = x.cluster AND v.id = x.verdict " + reportOfResult + " WHERE i.cluster = ",
		},
		engine.PartReport:  {"report AS r WHERE r.cluster = "},
		engine.PartSeconds: {"report AS r CROSS JOIN result AS x ON x.cluster = r.cluster AND x.object = r.object WHERE r.cluster = "},
	}

	// Parameter ?1 is a list of the numbers of subjects in JSON, ?2 the cluster.
	waysToSubjects = []string{
		"result AS x INDEXED BY result_subject ON x.cluster = ?2 AND x.subject = w.value " + reportOfResult,
		"report AS r INDEXED BY report_scope ON r.cluster = ?2 AND r.scope = w.value",
	}
)

// lateResults are the results x of a cluster i that the index of verdicts does not have yet.
const lateResults = "revision AS i CROSS JOIN result AS x ON x.cluster = i.cluster AND x.object > i.indexed AND x.late = 1"

// everywhere are all reports r with their results x.
const everywhere = "report AS r CROSS JOIN result AS x ON x.cluster = ?2 AND x.object = r.object"

const reportOfResult = "CROSS JOIN report AS r ON r.cluster = x.cluster AND r.object = x.object"

// addSelective selects reports by a way.
func (t *question) addSelective(from string, cluster int64, filter *engine.Filter, limit int) {
	t.Add("WITH few AS MATERIALIZED (SELECT r.namespace, r.kind, r.name FROM "+from, cluster)
	t.Where(filter, dialect.Stored)
	t.Add(" LIMIT ", limit, ") SELECT * FROM few")
}

// addAbout selects the reports that have results about some subjects, by a way.
func (t *question) addAbout(way string, cluster int64, subjects string, namespace *string, limit int) {
	t.Args = append(t.Args, subjects, cluster)
	t.WriteString("WITH few AS MATERIALIZED (SELECT r.namespace, r.kind, r.name FROM json_each(?1) AS w CROSS JOIN " + way + " WHERE 1")
	if namespace != nil {
		t.Add(" AND r.namespace = ", *namespace)
	}
	t.Add(" LIMIT ", limit, ") SELECT * FROM few")
}

// addSubjects selects the first subjects that meet a condition. All are read, unless they must have a name or UID.
func (t *question) addSubjects(cluster int64, filter *engine.Filter, limit int) {
	t.Add("WITH few AS MATERIALIZED (SELECT s.id FROM subject AS s"+subjectIndex(filter)+" WHERE s.cluster = ", cluster)
	t.Where(filter, dialect.Stored)
	t.Add(" LIMIT ", limit, ") SELECT * FROM few")
}

// subjectIndex returns which index leads to the subjects that a condition demands.
func subjectIndex(f *engine.Filter) string {
	for field, index := range map[engine.Field]string{engine.FieldSubjectUID: " INDEXED BY subject_uid", engine.FieldSubjectName: " INDEXED BY subject_name"} {
		if values, must := f.Demands(field); must && len(values) > 0 {
			return index
		}
	}
	return ""
}

// reportsIn are the reports r of the windows w, parameter ?1, of cluster ?2, in their order. A report's rows are under
// the number of its object, unless it is large.
const reportsIn = `json_each(?1) AS w
CROSS JOIN object AS o INDEXED BY sqlite_autoindex_object_1
ON o.cluster = ?2 AND o.resource = w.value ->> 0 AND o.key >= w.value ->> 1 AND o.key < w.value ->> 2
CROSS JOIN report AS r ON r.cluster = ?2 AND r.namespace = w.value ->> 3 AND r.kind = w.value ->> 4
AND r.object = ` + numberOfRows + `
CROSS JOIN result AS x ON x.cluster = ?2 AND x.object = r.object`

// numberOfRows is the number under which the rows of the report are that is an object o of cluster ?2.
const numberOfRows = "coalesce((SELECT l.object FROM large AS l INDEXED BY large_created WHERE l.cluster = ?2 AND l.created = o.created), o.created)"

// reading says how reports are read.
type reading int

const (
	named     reading = iota // A few that are named, or those of a namespace.
	allOfThem                // Many.
	byEntries                // Many, but only those of which the index of verdicts has results that are wanted.
)

// pageColumns are what is read of each row, of a report r and a result x.
const pageColumns = "x.object, x.idx, x.seconds, x.verdict, x.ordinal, coalesce(x.subject, r.scope)"

// byNumber selects what rows share of a table: ?1 is a list of numbers in JSON, ?2 the cluster. By primary keys.
var byNumber = map[string]string{
	questions.ReportTable:  "SELECT t.object, " + questions.ReportColumns + byNumbers("report", "object"),
	questions.VerdictTable: "SELECT t.id, " + engine.ColumnList(engine.VerdictColumns, "t.") + byNumbers("verdict", "id"),
	questions.SubjectTable: "SELECT t.id, " + engine.ColumnList(engine.SubjectColumns, "t.") + byNumbers("subject", "id"),
}

func byNumbers(table, number string) string {
	return " FROM json_each(?1) AS w CROSS JOIN " + table + " AS t ON t.cluster = ?2 AND t." + number + " = w.value"
}

// addRows selects the first rows in some windows. Verdicts that meet their conditions are found first where many
// reports are read: a look-up among them takes a fifth of one in their table.
func (t *question) addRows(cluster int64, windows string, condition questions.Condition, limit int, how reading) {
	t.Args = append(t.Args, windows, cluster)
	t.WriteString("WITH page AS MATERIALIZED (SELECT " + pageColumns + " FROM " + reportsIn)
	var verdicts, messages *engine.Filter
	others := condition.Filter
	if how != named {
		verdicts, messages, others = questions.Verdicts(others)
	}
	t.joins(others.Parts())
	t.WriteString(" WHERE 1")
	t.whereVerdict(verdicts, messages)
	if how == byEntries {
		t.WriteString(" AND " + numberOfRows + " IN (SELECT y.object FROM result AS y INDEXED BY result_verdict WHERE y.cluster = ?2 AND y.late = 0 AND ")
		t.oneOf("y", verdicts)
		t.WriteString(" UNION ALL SELECT x.object FROM " + lateResults + " WHERE i.cluster = ?2 AND ")
		t.oneOf("x", verdicts)
		t.WriteString(")")
	}
	if condition.Subject != nil {
		t.Add(" AND coalesce(x.subject, r.scope) = ", *condition.Subject)
	}
	t.Where(others, dialect.Of)
	t.Add(" LIMIT ", limit, ") SELECT * FROM page")
}

// joins appends the tables that conditions on some parts need beside r and x.
func (t *question) joins(parts engine.Part) {
	if parts&engine.PartVerdict != 0 {
		t.WriteString("\nCROSS JOIN verdict AS v ON v.cluster = ?2 AND v.id = x.verdict")
	}
	if parts&engine.PartSubject != 0 {
		t.WriteString("\nLEFT JOIN subject AS s ON s.cluster = ?2 AND s.id = coalesce(x.subject, r.scope)")
	}
}

// whereVerdict appends conditions on the verdict of a result, and on its message: of questions.Verdicts. Messages are
// made where they are not their templates.
func (t *question) whereVerdict(verdicts, messages *engine.Filter) {
	if verdicts != nil {
		t.WriteString(" AND ")
		t.oneOf("x", verdicts)
	}
	if messages == nil {
		return
	}
	t.WriteString(" AND (NOT ")
	t.oneOf("x", questions.Named())
	t.WriteString(" OR EXISTS (SELECT 1 FROM verdict AS v LEFT JOIN subject AS s ON s.cluster = ?2 AND s.id = coalesce(x.subject, r.scope)" +
		" WHERE v.cluster = ?2 AND v.id = x.verdict")
	t.Where(messages, dialect.Of)
	t.WriteString("))")
}

// oneOf appends that the verdict of a result is one of those that meet a condition.
func (t *question) oneOf(result string, f *engine.Filter) {
	t.WriteString(result + ".verdict IN (SELECT v.id FROM verdict AS v WHERE v.cluster = ?2")
	t.Where(f, dialect.Stored)
	t.WriteString(")")
}

// addCounters selects counters and, if they are wanted, the outcomes and places that they are of.
func (t *question) addCounters(cluster int64, counted *engine.Filter, outcomes, places bool) {
	switch {
	case places:
		t.WriteString("SELECT t.results, t.outcome, t.namespace, t.kind")
	case outcomes:
		t.WriteString("SELECT t.results, t.outcome")
	default:
		t.WriteString("SELECT coalesce(sum(t.results), 0)")
	}
	t.Add(" FROM tally AS t WHERE t.cluster = ", cluster, " AND t.results <> 0")
	t.whereCounted(cluster, counted)
}

// resultColumns says which columns addResults selects behind the report's, and where: 0 for none.
type resultColumns struct{ verdict, subject, seconds, meets int }

// addResults selects all results in some windows, "" for everywhere, that meet a condition, and always the first one of
// each report: its first column names the report, as JSON, and rows keep coming. Everywhere, verdicts that meet their
// conditions are found first, and results whose messages name their subject meet each condition on messages alone: the
// caller compares these. In windows, no verdicts but theirs are looked at.
func (t *question) addResults(cluster int64, windows string, filter *engine.Filter, wanted engine.Part) (at resultColumns) {
	t.Args = append(t.Args, windows, cluster)
	reports, others := filter.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	meets := newQuestion(t.Args...)
	if others != nil {
		meets.WriteString("1")
	}
	parts := meets.whereResult(windows, others, true)
	t.Args = meets.Args
	at, columns := columnsOf(meets.String(), wanted)
	t.WriteString("SELECT " + columns + " FROM " + fromWindows(windows))
	t.joins(parts)
	t.WriteString(" WHERE r.cluster = ?2")
	t.Where(reports, dialect.Of)
	if others != nil {
		t.WriteString(" AND (x.position = 0 OR " + meets.String() + ")")
	}
	return at
}

// columnsOf returns the columns of addResults, and where they are.
func columnsOf(meets string, wanted engine.Part) (at resultColumns, sql string) {
	columns := []string{"iif(x.position = 0, json_array(r.namespace, r.kind, r.name, r.uid), NULL)"}
	column := func(sql string, wanted bool) int {
		if !wanted {
			return 0
		}
		columns = append(columns, sql)
		return len(columns) - 1
	}
	at = resultColumns{
		verdict: column("x.verdict", wanted&engine.PartVerdict != 0),
		subject: column("coalesce(x.subject, r.scope)", wanted&engine.PartSubject != 0),
		seconds: column("x.seconds", wanted&engine.PartSeconds != 0),
		meets:   column(meets, meets != ""),
	}
	return at, strings.Join(columns, ", ")
}

// fromWindows returns where results are read: in windows, or "" for everywhere.
func fromWindows(windows string) string {
	if windows == "" {
		return everywhere
	}
	return reportsIn
}

// whereResult appends conditions on anything but reports, and returns the parts that they need joined. They are as in
// addResults; if messages are left to the caller, it compares those that are made.
func (t *question) whereResult(windows string, f *engine.Filter, leave bool) engine.Part {
	verdicts, messages, others := questions.Verdicts(f)
	if windows != "" {
		t.Where(verdicts, dialect.Stored)
		t.Where(engine.Both(messages, others), dialect.Of)
		return f.Parts()
	}
	if leave && onMessages(messages) {
		messages = nil // Verdicts that decide it have decided.
	}
	t.whereVerdict(verdicts, messages)
	t.Where(others, dialect.Of)
	return others.Parts()
}

// addFirst selects the first rows of a query in some windows, "" for everywhere, that meet a condition.
func (t *question) addFirst(cluster int64, windows string, of *engine.OrderQuery, f *engine.Filter) {
	t.Args = append(t.Args, windows, cluster)
	reports, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	where := newQuestion(t.Args...)
	parts := where.whereResult(windows, others, false)
	t.Args = where.Args
	t.WriteString("SELECT " + pageColumns + " FROM " + fromWindows(windows))
	t.joins(parts | of.OrderBy.Part())
	t.WriteString(" WHERE r.cluster = ?2" + where.String())
	t.Where(reports, dialect.Of)
	t.AddOrder(of)
}

// addVerdictCounts selects the numbers of results of the verdicts that meet a condition: of all reports, by the index
// of verdicts, and the late results. The rows of a large report may be there without it, and have numbers below 0.
func (t *question) addVerdictCounts(cluster int64, verdicts *engine.Filter) {
	t.Args = append(t.Args, "", cluster)
	t.WriteString("WITH counts AS MATERIALIZED (SELECT verdict, sum(results) FROM (" +
		"SELECT x.verdict, count(*) AS results FROM result AS x INDEXED BY result_verdict WHERE x.cluster = ?2 AND x.late = 0")
	t.whereVerdict(verdicts, nil)
	t.WriteString(" AND (x.object > 0 OR EXISTS (SELECT 1 FROM report AS r WHERE r.cluster = ?2 AND r.object = x.object)) GROUP BY x.verdict" +
		" UNION ALL SELECT x.verdict, count(*) FROM " + lateResults + " WHERE i.cluster = ?2")
	t.whereVerdict(verdicts, nil)
	t.WriteString(" GROUP BY x.verdict) GROUP BY verdict) SELECT * FROM counts")
}

// addValues selects some columns of the rows of a table.
func (t *question) addValues(cluster int64, table string, fields []engine.Field, column func(engine.Field) string) {
	t.WriteString("SELECT id")
	for _, field := range fields {
		t.WriteString(", " + t.Column(column)(field))
	}
	t.Add(" FROM "+table+" WHERE cluster = ", cluster)
}
