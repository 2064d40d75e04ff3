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
	*asked

	// filter is nil where there is no such condition.
	filter *engine.Filter
	// templates are those of verdicts by their IDs, without those that are messages as they are.
	templates map[int64]string
	subjects  map[int64]*engine.Subject
	// whole says that all subjects are among these.
	whole bool
}

// messages returns what is needed for the conditions of a filter on messages. Of few results, subjects are read one by one.
func (s *asked) messages(filter *engine.Filter, few bool) (*madeMessages, error) {
	_, messages, _ := questions.Verdicts(filter)
	if !onMessages(messages) {
		return &madeMessages{}, nil
	}
	m := &madeMessages{asked: s, filter: messages, templates: map[int64]string{}, subjects: map[int64]*engine.Subject{}, whole: !few}
	var sql sqlText
	sql.add("SELECT v.id, v.message FROM verdict AS v WHERE v.cluster = ", s.cluster)
	sql.where(questions.Named(), fieldColumns.Stored)
	err := s.scan(func(row []driver.Value) error {
		m.templates[row[0].(int64)] = text(row[1])
		return nil
	}, sql.String(), sql.args...)
	if err == nil && m.whole && len(m.templates) > 0 {
		err = m.read("SELECT id, name, namespace, uid FROM subject WHERE cluster = ?", s.cluster)
	}
	return m, err
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
func (m *madeMessages) meets(result rowOf) (bool, error) {
	if m.filter == nil {
		return true, nil
	}
	template, made := m.templates[result.verdict.(int64)]
	if !made {
		return true, nil
	}
	var about *engine.Subject
	if id, ok := result.subject.(int64); ok {
		if about, ok = m.subjects[id]; !ok && !m.whole {
			if err := m.read("SELECT id, name, namespace, uid FROM subject WHERE cluster = ? AND id = ?", m.cluster, id); err != nil {
				return false, err
			}
			about = m.subjects[id]
		}
	}
	message := engine.Message(template, about)
	return m.filter.Match(func(engine.Field) string { return message }, 0), nil
}

// read reads the subjects that a statement selects.
func (m *madeMessages) read(query string, args ...any) error {
	return m.scan(func(row []driver.Value) error {
		s := &engine.Subject{}
		scan(row[1:], &s.Name, &s.Namespace, &s.UID)
		m.subjects[row[0].(int64)] = s
		return nil
	}, query, args...)
}
