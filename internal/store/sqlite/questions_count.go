// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Results are grouped here and not in SQL: sorting a million rows by texts takes SQLite several seconds. A result has
// numbers of its verdict and its subject; their texts are read once each.

// group is what results are counted by that agree in all fields asked for: the numbers of the values that their reports, verdicts, subjects and times have.
type group struct{ report, verdict, subject, day int32 }

// groupSums are those of a group.
type groupSums struct {
	results, oldest, newest int64
	subjects                map[int64]struct{}
	namespaces              map[string]struct{}
	namespace               string // The last of them.
}

// census counts results.
type census struct {
	*asked

	q      engine.CountQuery
	groups map[group]*groupSums

	reports, verdicts, subjects, days fieldValues
}

// fieldValues numbers the values that some fields have in rows of a table.
type fieldValues struct {
	fields []engine.Field
	table  string
	column func(engine.Field) string
	// numbers of values by these, and by the ID of their row; all are the values by their number.
	numbers map[string]int32
	byID    map[int64]int32
	all     [][]string
}

func newValues(by []engine.Field, table string, column func(engine.Field) string, part engine.Part) fieldValues {
	v := fieldValues{table: table, column: column, numbers: map[string]int32{}, byID: map[int64]int32{}}
	for _, field := range by {
		if field.Part() == part {
			v.fields = append(v.fields, field)
		}
	}
	return v
}

// number returns that of some values.
func (v *fieldValues) number(texts ...string) int32 {
	var key strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&key, "%d %s", len(text), text)
	}
	n, ok := v.numbers[key.String()]
	if !ok {
		n = int32(len(v.all))
		v.numbers[key.String()] = n
		v.all = append(v.all, texts)
	}
	return n
}

// load reads the values of all rows, or of the one with an ID.
func (v *fieldValues) load(s *asked, id any) error {
	var sql sqlText
	sql.addValues(s.engine.cluster, v.table, v.fields, v.column, id)
	return s.scan(func(row []driver.Value) error {
		texts := make([]string, len(v.fields))
		for i := range texts {
			texts[i] = text(row[i+1])
		}
		v.byID[row[0].(int64)] = v.number(texts...)
		return nil
	}, sql.String(), sql.args...)
}

// of returns the number of the values that the row with an ID has, or that there are without a row.
func (v *fieldValues) of(s *asked, id any) (int32, error) {
	if len(v.fields) == 0 {
		return 0, nil
	}
	key, ok := id.(int64)
	if !ok {
		return v.number(make([]string, len(v.fields))...), nil
	}
	if n, ok := v.byID[key]; ok {
		return n, nil
	}
	if err := v.load(s, key); err != nil {
		return 0, err
	}
	n, ok := v.byID[key]
	if !ok {
		return 0, fmt.Errorf("%w: row %d of %s is missing", engine.ErrCorrupt, key, v.table)
	}
	return n, nil
}

// count answers a query.
func (s *asked) count(q engine.CountQuery) (engine.Counts, error) {
	c := &census{
		asked: s, q: q, groups: map[group]*groupSums{},
		reports:  newValues(q.By, "", nil, engine.PartReport),
		verdicts: newValues(q.By, "verdict AS v", fieldColumns.Stored, engine.PartVerdict),
		subjects: newValues(q.By, "subject AS s", fieldColumns.Stored, engine.PartSubject),
		days:     newValues(q.By, "", nil, engine.PartSeconds),
	}
	filter := engine.Both(q.Filter, questions.OfKinds(q.Kinds))
	if q.Namespace != nil {
		filter = engine.Both(filter, engine.Equal(engine.FieldNamespace, *q.Namespace))
	}
	var err error
	if q.Counted() && s.tallied {
		c.verdicts.table, c.verdicts.column = "outcome AS o", fieldColumns.Counted
		err = c.readCounters(filter)
	} else {
		err = c.readResults(filter)
	}
	if err != nil {
		return engine.Counts{}, err
	}
	return c.answer(), nil
}

// readCounters adds the counters that meet a condition.
func (c *census) readCounters(filter *engine.Filter) error {
	outcomes := len(c.verdicts.fields) > 0
	if outcomes {
		if err := c.verdicts.load(c.asked, nil); err != nil {
			return err
		}
	}
	var sql sqlText
	sql.addCounters(c.engine.cluster, filter, outcomes, c.q.Namespaces || len(c.reports.fields) > 0)
	reports := reportValues{fieldValues: &c.reports}
	return c.scan(func(row []driver.Value) error {
		var of group
		if len(row) > 2 {
			reports.set(engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: text(row[2]), Kind: text(row[3])}})
			of.report = reports.number
		}
		if outcomes {
			var err error
			if of.verdict, err = c.verdicts.of(c.asked, row[1]); err != nil {
				return err
			}
		}
		c.sums(of, reports.row.Namespace).results += row[0].(int64)
		return nil
	}, sql.String(), sql.args...)
}

// readResults adds the results that meet a condition.
func (c *census) readResults(filter *engine.Filter) error {
	windows, few, err := questions.Windows(c.ctx, c, c.q)
	if err != nil {
		return err
	}
	in := ""
	if few {
		if in, err = c.windows(windows); err != nil {
			return err
		}
	}
	for _, v := range []*fieldValues{&c.verdicts, &c.subjects} {
		if len(v.fields) > 0 && !few {
			if err := v.load(c.asked, nil); err != nil {
				return err
			}
		}
	}
	seconds, others := filter.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartSeconds })
	var sql sqlText
	at := sql.addResults(c.engine.cluster, in, others, c.wanted(seconds))
	reports := reportValues{fieldValues: &c.reports}
	return c.scan(func(row []driver.Value) error {
		if row[0] != nil {
			if err := reports.setJSON(text(row[0])); err != nil {
				return err
			}
		}
		if at.meets > 0 && row[at.meets].(int64) == 0 {
			return nil
		}
		var result rowOf
		if at.verdict > 0 {
			result.verdict = row[at.verdict]
		}
		if at.subject > 0 {
			result.subject = row[at.subject]
		}
		if at.seconds > 0 {
			result.seconds = row[at.seconds].(int64)
		}
		if !seconds.Match(nil, result.seconds) {
			return nil
		}
		return c.add(&reports, result)
	}, sql.String(), sql.args...)
}

// wanted returns what has to be read of each result.
func (c *census) wanted(seconds *engine.Filter) (parts engine.Part) {
	if len(c.verdicts.fields) > 0 {
		parts |= engine.PartVerdict
	}
	if len(c.subjects.fields) > 0 || c.q.Subjects {
		parts |= engine.PartSubject
	}
	if seconds != nil || c.q.Times || len(c.days.fields) > 0 {
		parts |= engine.PartSeconds
	}
	return parts
}

// rowOf is what is read of a result.
type rowOf struct {
	verdict, subject driver.Value
	seconds          int64
}

// reportValues has the number of the values of the report that is read.
type reportValues struct {
	*fieldValues

	row    engine.ReportRow
	number int32
	known  bool
}

func (r *reportValues) set(row engine.ReportRow) {
	if r.known && r.row == row {
		return
	}
	texts := make([]string, len(r.fields))
	of := map[engine.Field]string{
		engine.FieldNamespace: row.Namespace, engine.FieldReportKind: row.Kind, engine.FieldReport: row.Name, engine.FieldReportUID: row.UID,
	}
	for i, field := range r.fields {
		texts[i] = of[field]
	}
	r.row, r.number, r.known = row, r.fieldValues.number(texts...), true
}

// setJSON takes the first column of addResults.
func (r *reportValues) setJSON(text string) error {
	var columns [4]string
	err := json.Unmarshal([]byte(text), &columns)
	r.set(engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: columns[0], Kind: columns[1], Name: columns[2]}, UID: columns[3]})
	return err
}

func (c *census) add(reports *reportValues, result rowOf) error {
	verdict, err := c.verdicts.of(c.asked, result.verdict)
	if err != nil {
		return err
	}
	subject, err := c.subjects.of(c.asked, result.subject)
	if err != nil {
		return err
	}
	s := c.sums(group{reports.number, verdict, subject, c.day(result.seconds)}, reports.row.Namespace)
	s.results++
	if id, ok := result.subject.(int64); ok && c.q.Subjects {
		s.subjects[id] = struct{}{}
	}
	if c.q.Times && result.seconds != 0 {
		if s.oldest == 0 || result.seconds < s.oldest {
			s.oldest = result.seconds
		}
		if s.newest == 0 || result.seconds > s.newest {
			s.newest = result.seconds
		}
	}
	return nil
}

// day returns the number of the day of a time: 0 if it is not asked for.
func (c *census) day(seconds int64) int32 {
	if len(c.days.fields) == 0 {
		return 0
	}
	const noDay = math.MinInt64
	key := int64(noDay)
	if seconds != 0 {
		key = seconds / engine.SecondsOfDay
		if seconds%engine.SecondsOfDay < 0 {
			key-- // Before 1970, too, a day begins at midnight.
		}
	}
	n, ok := c.days.byID[key]
	if !ok {
		n = c.days.number(engine.Day(seconds))
		c.days.byID[key] = n
	}
	return n
}

// sums returns those of a group, and notes that it has results in a namespace.
func (c *census) sums(of group, namespace string) *groupSums {
	s := c.groups[of]
	if s == nil {
		s = &groupSums{subjects: map[int64]struct{}{}, namespaces: map[string]struct{}{}}
		c.groups[of] = s
	}
	if c.q.Namespaces && (s.namespace != namespace || len(s.namespaces) == 0) {
		s.namespace = namespace
		s.namespaces[namespace] = struct{}{}
	}
	return s
}

func (c *census) answer() engine.Counts {
	if len(c.q.By) == 0 && len(c.groups) == 0 {
		c.groups[group{}] = &groupSums{}
	}
	counts := make([]engine.Count, 0, len(c.groups))
	for of, s := range c.groups {
		count := engine.Count{
			Results: s.results, Oldest: s.oldest, Newest: s.newest, Subjects: int64(len(s.subjects)), Namespaces: int64(len(s.namespaces)),
		}
		for _, field := range c.q.By {
			count.Values = append(count.Values, c.value(of, field))
		}
		counts = append(counts, count)
	}
	return c.q.Answer(counts)
}

// value returns that of a field in a group.
func (c *census) value(of group, field engine.Field) string {
	v, n := &c.verdicts, of.verdict
	switch field.Part() {
	case engine.PartReport:
		v, n = &c.reports, of.report
	case engine.PartSubject:
		v, n = &c.subjects, of.subject
	case engine.PartSeconds:
		v, n = &c.days, of.day
	}
	return v.all[n][slices.Index(v.fields, field)]
}
