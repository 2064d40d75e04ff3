// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A list with conditions goes by one of them, the rarest: it reads the keys of each of its values in order, merges
// them, tests the other conditions of each key, and stops at the end of the page. So it costs time for what it reads,
// however many objects meet a condition. Where the only conditions are that objects have a name, of any value, the
// keys of all its values are sorted if they are few, and else all objects are tested in the order of keys. SQLite has
// no statistics that would let it choose, and with them it would choose once and not for each value.

const (
	// countedTerms is up to how many terms of a condition are counted, and how many are sorted.
	countedTerms = 10_000
	// mergedTerms is how many values are merged in one statement.
	mergedTerms = 50
)

// Parts of statements with conditions. Arguments 1 to 6 are cluster, resource, bounds of keys, revision and limit;
// those of conditions follow.
const (
	// A range of the primary key of term_key for each of the terms, with the primary key of object.
	keysOf = `SELECT %s t.key AS key, o.rowid AS id FROM term_key AS t
CROSS JOIN object AS o ON o.cluster = ?1 AND o.resource = ?2 AND o.key = t.key
WHERE t.cluster = ?1 AND t.resource = ?2 AND t.term %s AND t.key >= ?3 AND t.key < ?4%s`
	// Rows of object by id.
	rowsOfKeys = `SELECT o.key, o.revision, o.created, o.expires_at, o.size, o.codec, iif(o.revision <= ?5, o.data, NULL)
FROM (%s ORDER BY key LIMIT ?6) AS found CROSS JOIN object AS o ON o.rowid = found.id`
	// A range of the primary key of object.
	testObjects = `SELECT o.key, o.revision, o.created, o.expires_at, o.size, o.codec, iif(o.revision <= ?5, o.data, NULL)
FROM object AS o WHERE o.cluster = ?1 AND o.resource = ?2 AND o.key >= ?3 AND o.key < ?4%s ORDER BY o.key LIMIT ?6`
	// Primary key of term_key.
	hasTerm    = " AND EXISTS (SELECT 1 FROM term_key WHERE cluster = ?1 AND resource = ?2 AND term %s AND key = o.key)"
	hasName    = " AND instr(o.terms, ?%d) > 0"
	countTerms = "SELECT count(*) FROM (SELECT 1 FROM term_key WHERE cluster = ?1 AND resource = ?2 AND term %s LIMIT ?3)"

	oneTerm   = "= ?%d"
	anyTerm   = "IN (SELECT value FROM json_each(?%d))"
	termRange = "BETWEEN ?%d AND ?%d"
)

// search is a list with conditions.
type search struct {
	*snapshot
	// by is the condition that it goes by, nil for none, and others the rest.
	by     *engine.Condition
	others []engine.Condition
}

// arguments of a statement whose conditions come in parts.
type arguments []any

// add appends an argument and returns its number.
func (a *arguments) add(v any) int {
	*a = append(*a, v)
	return len(*a)
}

// terms returns the part of a statement that says which terms meet a condition.
func (a *arguments) terms(c engine.Condition) (string, error) {
	switch len(c.Values) {
	case 0:
		first, last := termsOfName(c.Name)
		return fmt.Sprintf(termRange, a.add(first), a.add(last)), nil
	case 1:
		return fmt.Sprintf(oneTerm, a.add(termOf(c.Name, c.Values[0]))), nil
	}
	terms, err := json.Marshal(termsOf(c))
	return fmt.Sprintf(anyTerm, a.add(string(terms))), err
}

// termsOf returns the terms of a condition's values.
func termsOf(c engine.Condition) []int64 {
	terms := make([]int64, len(c.Values))
	for i, value := range c.Values {
		terms[i] = termOf(c.Name, value)
	}
	return terms
}

// tests returns the part of a statement that tests objects o.
func (a *arguments) tests(conditions []engine.Condition) (string, error) {
	var tests strings.Builder
	for _, c := range conditions {
		if len(c.Values) == 0 {
			first, _ := termsOfName(c.Name)
			name := binary.BigEndian.AppendUint64(nil, uint64(first))[:nameBytes]
			fmt.Fprintf(&tests, hasName, a.add(name))
			continue
		}
		terms, err := a.terms(c)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&tests, hasTerm, terms)
	}
	return tests.String(), nil
}

// finder plans how to read rows that meet conditions.
func (s *snapshot) finder(resource int64, conditions []engine.Condition) (finder, error) {
	if len(conditions) == 0 {
		return s.findAll, nil
	}
	by, err := s.rarest(resource, conditions)
	if err != nil {
		return nil, err
	}
	if by < 0 {
		return search{s, nil, conditions}.test, nil
	}
	return search{s, &conditions[by], slices.Delete(slices.Clone(conditions), by, by+1)}.byTerms, nil
}

// rarest returns the condition to go by, -1 for none: one without values must have few terms. No more terms of one are
// counted than those before it have.
func (s *snapshot) rarest(resource int64, conditions []engine.Condition) (int, error) {
	if len(conditions) == 1 && len(conditions[0].Values) > 0 {
		return 0, nil
	}
	rarest, fewest := -1, int64(countedTerms)
	for _, values := range []bool{true, false} {
		for i, c := range conditions {
			if len(c.Values) > 0 != values {
				continue
			}
			n, err := s.countTerms(resource, c, fewest)
			if err != nil {
				return -1, err
			}
			if n < fewest || rarest < 0 && values {
				rarest, fewest = i, n
			}
		}
	}
	return rarest, nil
}

// countTerms returns how many terms meet a condition, at most limit.
func (s *snapshot) countTerms(resource int64, c engine.Condition, limit int64) (int64, error) {
	args := arguments{s.engine.cluster, resource, limit}
	terms, err := args.terms(c)
	if err != nil {
		return 0, err
	}
	return s.number(s.ctx, fmt.Sprintf(countTerms, terms), args...)
}

func (s search) arguments(w window, limit int) arguments {
	return arguments{s.engine.cluster, w.resource, w.from, w.to, int64(w.at), int64(limit)}
}

// test reads objects by key and tests each.
func (s search) test(w window, limit int) ([]engine.Row, error) {
	args := s.arguments(w, limit)
	tests, err := args.tests(s.others)
	if err != nil {
		return nil, err
	}
	return s.find(fmt.Sprintf(testObjects, tests), args...)
}

// byTerms reads the objects of the condition to go by, of as many values at a time as one statement merges.
func (s search) byTerms(w window, limit int) ([]engine.Row, error) {
	if len(s.by.Values) == 0 {
		args := s.arguments(w, limit)
		terms, err := args.terms(*s.by)
		if err != nil {
			return nil, err
		}
		return s.ofTerms(args, "DISTINCT", []string{terms})
	}
	var rows []engine.Row
	for values := range slices.Chunk(termsOf(*s.by), mergedTerms) {
		args := s.arguments(w, limit)
		terms := make([]string, len(values))
		for i, term := range values {
			terms[i] = fmt.Sprintf(oneTerm, args.add(term))
		}
		more, err := s.ofTerms(args, "", terms)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, more...); len(rows) > len(more) {
			rows = inOrder(rows)
		}
		if limit != noLimit {
			rows = rows[:min(limit, len(rows))]
		}
	}
	return rows, nil
}

// ofTerms reads the objects of terms.
func (s search) ofTerms(args arguments, distinct string, terms []string) ([]engine.Row, error) {
	tests, err := args.tests(s.others)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(terms))
	for i, term := range terms {
		keys[i] = fmt.Sprintf(keysOf, distinct, term, tests)
	}
	rows, err := s.find(fmt.Sprintf(rowsOfKeys, strings.Join(keys, "\nUNION ")), args...)
	return inOrder(rows), err
}

// inOrder sorts rows by key, each once.
func inOrder(rows []engine.Row) []engine.Row {
	slices.SortFunc(rows, func(a, b engine.Row) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(rows, func(a, b engine.Row) bool { return a.Key == b.Key })
}
