// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// fieldValues numbers the values that some fields have in rows of a table.
type fieldValues struct {
	fields []engine.Field
	table  string
	column func(engine.Field) string
	// only is what rows meet that are loaded at once.
	only *engine.Filter
	// numbers of values by these, and by the ID of their row; all are the values by their number.
	numbers map[string]int32
	byID    map[int64]int32
	all     [][]string
	// key is where keys of numbers are made.
	key []byte
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

// number returns that of some values. Those that are kept are parts of their key.
func (v *fieldValues) number(texts ...string) int32 {
	v.key = v.key[:0]
	for _, text := range texts {
		v.key = append(strconv.AppendInt(v.key, int64(len(text)), 10), ' ')
		v.key = append(v.key, text...)
	}
	if n, ok := v.numbers[string(v.key)]; ok {
		return n
	}
	n, key := int32(len(v.all)), string(v.key)
	v.numbers[key] = n
	own := make([]string, len(texts))
	for i, text := range texts {
		from := len(strconv.Itoa(len(text))) + 1
		own[i], key = key[from:from+len(text)], key[from+len(text):]
	}
	v.all = append(v.all, own)
	return n
}

// load reads the values of all rows that are to be loaded, or of the one with an ID.
func (v *fieldValues) load(s *resultReader, id any) error {
	sql := newQuestion()
	sql.addValues(s.cluster, v.table, v.fields, v.column)
	if id != nil {
		sql.Add(" AND id = ", id)
	} else {
		sql.Where(v.only, v.column)
	}
	texts := make([]string, len(v.fields))
	return s.scan(func(row []driver.Value) error {
		for i := range texts {
			texts[i] = text(row[i+1])
		}
		v.byID[row[0].(int64)] = v.number(texts...)
		return nil
	}, sql.String(), sql.Args...)
}

// of returns the number of the values that the row with an ID has, or that there are without a row.
func (v *fieldValues) of(s *resultReader, id any) (int32, error) {
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

// madeMessages has the parts of messages that name their subject, to compare the messages with a condition. SQLite
// takes four times as long to find and replace that in each result.
type madeMessages struct {
	// filter is nil where there is no such condition.
	filter *engine.Filter
	// templates are those of verdicts by their IDs, without those that are messages as they are.
	templates map[int64]string
	subjects  map[int64]*engine.Subject
}

// messages returns what is needed for the conditions of a filter on messages of all results.
func (s *resultReader) messages(filter *engine.Filter) (*madeMessages, error) {
	_, messages, _ := questions.Verdicts(filter)
	if !onMessages(messages) {
		return &madeMessages{}, nil
	}
	m := &madeMessages{filter: messages, templates: map[int64]string{}, subjects: map[int64]*engine.Subject{}}
	sql := newQuestion()
	sql.Add("SELECT v.id, v.message FROM verdict AS v WHERE v.cluster = ", s.cluster)
	sql.Where(questions.Named(), dialect.Stored)
	err := s.scan(func(row []driver.Value) error {
		m.templates[row[0].(int64)] = text(row[1])
		return nil
	}, sql.String(), sql.Args...)
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
