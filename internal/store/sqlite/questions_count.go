// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"math"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Results are grouped here and not in SQL: sorting a million rows by texts takes SQLite several seconds. A result has
// numbers of its verdict and its subject; their texts are read once each.

// group is what results are counted by that agree in all fields asked for: the numbers of the values that their
// reports, verdicts, subjects and times have.
type group struct{ report, verdict, subject, day int32 }

// groupSums are the sums of a group.
type groupSums struct {
	results, oldest, newest int64
	subjects                map[int64]struct{}
	namespaces              map[string]struct{}
	namespace               string // The last of them.
	// The numbers of these.
	policies, sources map[int32]struct{}
}

// groupCounts counts results.
type groupCounts struct {
	*resultReader

	q      *engine.CountQuery
	groups map[group]*groupSums

	reports, verdicts, subjects, days fieldValues
	// policies and sources are those of verdicts, if they are counted.
	policies, sources fieldValues
}

// newGroupCounts counts nothing yet. table has the fields of verdicts, in columns.
func newGroupCounts(s *resultReader, q *engine.CountQuery, table string, column func(engine.Field) string) *groupCounts {
	stored := func(fields ...engine.Field) fieldValues { return newValues(fields, table, column, engine.PartVerdict) }
	c := &groupCounts{
		resultReader: s, q: q, groups: map[group]*groupSums{},
		reports:  newValues(q.By, "", nil, engine.PartReport),
		verdicts: stored(q.By...),
		subjects: newValues(q.By, "subject AS s", dialect.Stored, engine.PartSubject),
		days:     newValues(q.By, "", nil, engine.PartSeconds),
	}
	if q.Policies {
		c.policies = stored(engine.FieldPolicy)
	}
	if q.Sources {
		c.sources = stored(engine.FieldSource)
	}
	return c
}

// needsVerdicts reports whether the query asks for anything that verdicts, or outcomes, say.
func (c *groupCounts) needsVerdicts() bool {
	return len(c.verdicts.fields) > 0 || c.q.Policies || c.q.Sources
}

// load reads the values of all rows of some tables, if they are asked for. In a namespace, values are read when rows
// need them.
func (c *groupCounts) load(tables ...*fieldValues) error {
	if c.q.Namespace != nil {
		return nil
	}
	for _, v := range tables {
		if len(v.fields) > 0 {
			if err := v.load(c.resultReader, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountCounters implements questions.Tables.
func (s *resultReader) CountCounters(_ context.Context, q *engine.CountQuery, filter *engine.Filter) (engine.Counts, error) {
	c := newGroupCounts(s, q, "outcome AS o", dialect.Counted)
	err := c.readCounters(filter)
	return c.answer(), err
}

// CountResults implements questions.Tables.
func (s *resultReader) CountResults(_ context.Context, q *engine.CountQuery, from questions.Selection) (engine.Counts, error) {
	c := newGroupCounts(s, q, "verdict AS v", dialect.Stored)
	if from.Verdicts {
		err := c.readVerdicts()
		return c.answer(), err
	}
	err := c.readResults(from)
	return c.answer(), err
}

// readCounters adds the counters that meet a condition.
func (c *groupCounts) readCounters(filter *engine.Filter) error {
	outcomes := c.needsVerdicts()
	if err := c.load(&c.verdicts, &c.policies, &c.sources); err != nil {
		return err
	}
	sql := newQuestion()
	sql.addCounters(c.cluster, filter, outcomes, c.q.Namespaces || len(c.reports.fields) > 0)
	reports := reportValues{fieldValues: &c.reports}
	return c.scan(func(row []driver.Value) error {
		var of group
		if len(row) > 2 {
			reports.set(engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: text(row[2]), Kind: text(row[3])}})
			of.report = reports.number
		}
		if outcomes {
			var err error
			if of.verdict, err = c.verdicts.of(c.resultReader, row[1]); err != nil {
				return err
			}
		}
		s, err := c.sums(of, reports.row.Namespace)
		if err != nil {
			return err
		}
		s.results += row[0].(int64)
		if !outcomes {
			return nil
		}
		return c.distinguish(s, row[1])
	}, sql.String(), sql.Args...)
}

// readVerdicts adds the results of each verdict that meets the filter, which the index of verdicts has. No result is
// read.
func (c *groupCounts) readVerdicts() error {
	for _, v := range []*fieldValues{&c.verdicts, &c.policies, &c.sources} {
		v.only = c.q.Filter
	}
	if err := c.load(&c.verdicts, &c.policies, &c.sources); err != nil {
		return err
	}
	sql := newQuestion()
	sql.addVerdictCounts(c.cluster, c.q.Filter)
	return c.scan(func(row []driver.Value) error {
		of, err := c.verdicts.of(c.resultReader, row[0])
		if err != nil {
			return err
		}
		s, err := c.sums(group{verdict: of}, "")
		if err != nil {
			return err
		}
		s.results += row[1].(int64)
		return c.distinguish(s, row[0])
	}, sql.String(), sql.Args...)
}

// readResults adds the results of a selection.
func (c *groupCounts) readResults(from questions.Selection) error {
	in, err := c.windowsOf(from)
	if err != nil {
		return err
	}
	seconds, others := from.Filter.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartSeconds })
	messages := &madeMessages{}
	if from.Whole {
		if err := c.load(&c.verdicts, &c.policies, &c.sources, &c.subjects); err != nil {
			return err
		}
		if messages, err = c.messages(others); err != nil {
			return err
		}
	}
	sql := newQuestion()
	at := sql.addResults(c.cluster, in, others, c.wanted(seconds)|messages.parts())
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
		if !messages.meets(result) {
			return nil
		}
		return c.add(&reports, result)
	}, sql.String(), sql.Args...)
}

// wanted returns what has to be read of each result.
func (c *groupCounts) wanted(seconds *engine.Filter) (parts engine.Part) {
	if c.needsVerdicts() {
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

func (c *groupCounts) add(reports *reportValues, result rowOf) error {
	verdict, err := c.verdicts.of(c.resultReader, result.verdict)
	if err != nil {
		return err
	}
	subject, err := c.subjects.of(c.resultReader, result.subject)
	if err != nil {
		return err
	}
	s, err := c.sums(group{reports.number, verdict, subject, c.day(result.seconds)}, reports.row.Namespace)
	if err != nil {
		return err
	}
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
	return c.distinguish(s, result.verdict)
}

// distinguish notes the policy and the source of a verdict, or outcome, if they are counted.
func (c *groupCounts) distinguish(s *groupSums, verdict driver.Value) error {
	if s.policies != nil {
		n, err := c.policies.of(c.resultReader, verdict)
		if err != nil {
			return err
		}
		s.policies[n] = struct{}{}
	}
	if s.sources != nil {
		n, err := c.sources.of(c.resultReader, verdict)
		if err != nil {
			return err
		}
		s.sources[n] = struct{}{}
	}
	return nil
}

// day returns the number of the day of a time: 0 if it is not asked for.
func (c *groupCounts) day(seconds int64) int32 {
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
func (c *groupCounts) sums(of group, namespace string) (*groupSums, error) {
	s := c.groups[of]
	if s == nil {
		if allowed := max(engine.MaxGroups, c.q.Limit); len(c.groups) == allowed {
			return nil, &engine.CrowdedError{Allowed: allowed}
		}
		s = c.newSums()
		c.groups[of] = s
	}
	if c.q.Namespaces && (s.namespace != namespace || len(s.namespaces) == 0) {
		s.namespace = namespace
		s.namespaces[namespace] = struct{}{}
	}
	return s, nil
}

// newSums returns those of a group without results, with sets of what is counted: nil for what is not.
func (c *groupCounts) newSums() *groupSums {
	s := &groupSums{}
	if c.q.Subjects {
		s.subjects = map[int64]struct{}{}
	}
	if c.q.Namespaces {
		s.namespaces = map[string]struct{}{}
	}
	if c.q.Policies {
		s.policies = map[int32]struct{}{}
	}
	if c.q.Sources {
		s.sources = map[int32]struct{}{}
	}
	return s
}

// answer returns the counts, of which no more are made at a time than twice what is answered.
func (c *groupCounts) answer() engine.Counts {
	if len(c.q.By) == 0 && len(c.groups) == 0 {
		c.groups[group{}] = &groupSums{}
	}
	var counts []engine.Count
	more := false
	for of, s := range c.groups {
		if len(counts) == 2*c.q.Limit {
			answer := c.q.Answer(counts)
			counts, more = answer.Counts, more || answer.More
		}
		count := engine.Count{
			Results: s.results, Oldest: s.oldest, Newest: s.newest, Subjects: int64(len(s.subjects)), Namespaces: int64(len(s.namespaces)),
			Policies: int64(len(s.policies)), Sources: int64(len(s.sources)),
		}
		for _, field := range c.q.By {
			count.Values = append(count.Values, c.value(of, field))
		}
		counts = append(counts, count)
	}
	answer := c.q.Answer(counts)
	answer.More = answer.More || more
	return answer
}

// value returns that of a field in a group.
func (c *groupCounts) value(of group, field engine.Field) string {
	var v *fieldValues
	var n int32
	switch field.Part() {
	case engine.PartReport:
		v, n = &c.reports, of.report
	case engine.PartSubject:
		v, n = &c.subjects, of.subject
	case engine.PartSeconds:
		v, n = &c.days, of.day
	default:
		v, n = &c.verdicts, of.verdict
	}
	return v.all[n][slices.Index(v.fields, field)]
}
