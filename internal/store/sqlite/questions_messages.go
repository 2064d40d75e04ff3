// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// madeMessages has what messages are made of that name what they are about, to hold them against a condition. SQLite takes four times
// as long to find and replace that in each result.
type madeMessages struct {
	// filter is nil where there is no such condition.
	filter *engine.Filter
	// templates are those of verdicts by their IDs, without those that are messages as they are.
	templates map[int64]string
	subjects  map[int64]*engine.Subject
}

// messages returns what is needed for the conditions of a filter on messages of all results.
func (s *asked) messages(filter *engine.Filter) (*madeMessages, error) {
	_, messages, _ := questions.Verdicts(filter)
	if !onMessages(messages) {
		return &madeMessages{}, nil
	}
	m := &madeMessages{filter: messages, templates: map[int64]string{}, subjects: map[int64]*engine.Subject{}}
	var sql sqlText
	sql.add("SELECT v.id, v.message FROM verdict AS v WHERE v.cluster = ", s.cluster)
	sql.where(questions.Named(), fieldColumns.Stored)
	err := s.scan(func(row []driver.Value) error {
		m.templates[row[0].(int64)] = text(row[1])
		return nil
	}, sql.String(), sql.args...)
	if err != nil || len(m.templates) == 0 {
		return m, err
	}
	return m, s.scan(func(row []driver.Value) error {
		about := &engine.Subject{}
		scan(row[1:], &about.Name, &about.Namespace, &about.UID)
		m.subjects[row[0].(int64)] = about
		return nil
	}, "SELECT id, name, namespace, uid FROM subject WHERE cluster = ?", s.cluster)
}

// onMessages reports whether a condition is on messages, and on nothing else.
func onMessages(f *engine.Filter) bool {
	only := f != nil
	f.Uses(func(field engine.Field) { only = only && field == engine.FieldMessage })
	return only
}

// parts returns what has to be read of each result.
func (m *madeMessages) parts() engine.Part {
	if m.filter == nil {
		return 0
	}
	return engine.PartVerdict | engine.PartSubject
}

// meets reports whether a result whose verdict may meet the condition does.
func (m *madeMessages) meets(result rowOf) bool {
	if m.filter == nil {
		return true
	}
	template, made := m.templates[result.verdict.(int64)]
	if !made {
		return true
	}
	var about *engine.Subject
	if id, ok := result.subject.(int64); ok {
		about = m.subjects[id]
	}
	message := engine.Message(template, about)
	return m.filter.Match(func(engine.Field) string { return message }, 0)
}
