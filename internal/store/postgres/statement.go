// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// statement is SQL with named parameters that were numbered once. pgx.NamedArgs would number them in each call, which
// takes as long as the rest of what this process does for a small commit.
type statement struct {
	sql string
	// numbers of the parameters, from 1 on, by their names.
	numbers map[string]int
}

var parameterName = regexp.MustCompile(`@[a-z_]+`)

// numbered returns the statement of SQL in which each parameter is an @ and its name.
func numbered(sql string) *statement {
	s := &statement{numbers: map[string]int{}}
	s.sql = parameterName.ReplaceAllStringFunc(sql, func(parameter string) string {
		name := parameter[1:]
		if s.numbers[name] == 0 {
			s.numbers[name] = len(s.numbers) + 1
		}
		return "$" + strconv.Itoa(s.numbers[name])
	})
	return s
}

// arguments are the values of a statement's parameters.
type arguments struct {
	of     *statement
	values []any
	err    error
}

// unset is the value of a parameter that has none yet.
type unset struct{}

// arguments returns arguments without values.
func (s *statement) arguments() *arguments {
	a := &arguments{of: s, values: make([]any, len(s.numbers))}
	for i := range a.values {
		a.values[i] = unset{}
	}
	return a
}

// set gives a parameter its value.
func (a *arguments) set(name string, value any) {
	number, ok := a.of.numbers[name]
	if !ok {
		a.err = fmt.Errorf("the statement has no parameter @%s", name)
		return
	}
	a.values[number-1] = value
}

// queue adds the statement to a batch. All parameters must have values.
func (a *arguments) queue(batch *pgx.Batch) error {
	for name, number := range a.of.numbers {
		if a.values[number-1] == (unset{}) {
			a.err = fmt.Errorf("the parameter @%s of the statement has no value", name)
		}
	}
	if a.err == nil {
		batch.Queue(a.of.sql, a.values...)
	}
	return a.err
}
