// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A list with conditions can be read in two ways. Either the objects of one
// condition, the rarest, are gathered by index, filtered by the others and
// sorted: that costs time for each object that meets the condition, on every
// page. Or objects are read in the order of keys and each is checked: that costs
// time for each object up to the end of the page. Terms are counted first, up to
// a cap, and the cheaper way is taken. SQLite has no statistics that would let
// it choose, and with them it would choose once and not for each value.

const (
	// probeSmall objects are gathered without a thought.
	probeSmall = 128
	// probeCap is the most objects that are ever gathered.
	probeCap = 10_000
	// Measured on lists of 100,000: it takes gatherCost to find and read an
	// object of a term and sort it, and checkCost to check the next one by key.
	gatherCost = 8
	checkCost  = 5
)

// Parts of statements with conditions. A part is chosen by the number of values
// of a condition; values are always arguments.
const (
	// A range of the primary key of term.
	termOfName = "cluster = ? AND resource = ? AND name = ?"
	oneValue   = " AND value = ?"
	manyValues = " AND value IN (SELECT value FROM json_each(?))"

	countTerms = "SELECT count(*) FROM (SELECT 1 FROM term WHERE %s LIMIT ?)"

	// Primary key of term, then object_created, then rows of object by id. The
	// plus sign keeps SQLite from reading all terms in the order of created.
	gatherObjects = `SELECT o.key, o.revision, o.created, o.expires_at, o.size, o.codec, iif(o.revision <= ?, o.data, NULL)
FROM (SELECT k.rowid AS id FROM (SELECT DISTINCT +created AS created FROM term WHERE %s) AS t
CROSS JOIN object AS k INDEXED BY object_created ON k.cluster = ? AND k.created = t.created
WHERE k.key >= ? AND k.key < ?%s ORDER BY k.key LIMIT ?) AS found
CROSS JOIN object AS o ON o.rowid = found.id ORDER BY o.key`

	// A range of the primary key of object.
	checkObjects = `SELECT k.key, k.revision, k.created, k.expires_at, k.size, k.codec, iif(k.revision <= ?, k.data, NULL)
FROM object AS k WHERE k.cluster = ? AND k.resource = ? AND k.key >= ? AND k.key < ?%s ORDER BY k.key LIMIT ?`

	// term_object: the terms of one object.
	hasTerm = " AND EXISTS (SELECT 1 FROM term INDEXED BY term_object WHERE %s AND created = k.created)"
)

// condition is an engine.Condition as SQL.
type condition struct {
	// terms selects the terms that meet it; args are its arguments.
	terms string
	args  []any
	// exists selects the objects k that have such a term, with the same
	// arguments.
	exists string
}

func conditionOf(cluster, resource int64, c engine.Condition) (condition, error) {
	out := condition{terms: termOfName, args: []any{cluster, resource, c.Name}}
	switch len(c.Values) {
	case 0:
	case 1:
		out.terms += oneValue
		out.args = append(out.args, c.Values[0])
	default:
		values, err := json.Marshal(c.Values)
		if err != nil {
			return out, err
		}
		out.terms += manyValues
		out.args = append(out.args, string(values))
	}
	out.exists = fmt.Sprintf(hasTerm, out.terms)
	return out, nil
}

// finder plans how to read rows that meet conditions, limit at a time.
func (s *snapshot) finder(resource int64, wanted []engine.Condition, limit int) (finder, error) {
	if len(wanted) == 0 {
		return s.findAll, nil
	}
	conditions := make([]condition, len(wanted))
	for i, c := range wanted {
		var err error
		if conditions[i], err = conditionOf(s.engine.cluster, resource, c); err != nil {
			return nil, err
		}
	}
	rarest, err := s.plan(resource, conditions, limit)
	if err != nil {
		return nil, err
	}
	if rarest < 0 {
		return func(w window, limit int) ([]engine.Row, error) { return s.check(w, conditions, limit) }, nil
	}
	conditions[0], conditions[rarest] = conditions[rarest], conditions[0]
	return func(w window, limit int) ([]engine.Row, error) { return s.gather(w, conditions, limit) }, nil
}

// plan returns the condition whose objects are to be gathered, or -1 when
// objects are to be checked in the order of keys.
func (s *snapshot) plan(resource int64, conditions []condition, limit int) (int, error) {
	for _, ceiling := range []int64{probeSmall, probeCap} {
		rarest, fewest := -1, ceiling+1
		for i, c := range conditions {
			n, err := s.number(s.ctx, fmt.Sprintf(countTerms, c.terms), append(c.args[:len(c.args):len(c.args)], fewest)...)
			if err != nil {
				return -1, err
			}
			if n < fewest {
				rarest, fewest = i, n
			}
		}
		switch {
		case fewest <= probeSmall:
			return rarest, nil
		case ceiling == probeCap && fewest <= ceiling:
			return s.cheaper(resource, rarest, fewest, limit)
		}
	}
	return -1, nil
}

// cheaper decides between gathering n objects of a condition and checking all
// until limit of them were found, as if they were spread evenly.
func (s *snapshot) cheaper(resource int64, rarest int, n int64, limit int) (int, error) {
	objects, err := s.number(s.ctx, selectTotal, s.engine.cluster, resource)
	if err != nil {
		return -1, err
	}
	checked := objects
	if limit != noLimit {
		checked = min(objects, int64(limit)*objects/n)
	}
	if n*gatherCost <= checked*checkCost {
		return rarest, nil
	}
	return -1, nil
}

// gather reads the objects of the first condition.
func (s *snapshot) gather(w window, conditions []condition, limit int) ([]engine.Row, error) {
	first := conditions[0]
	args := append([]any{int64(w.at)}, first.args...)
	args = append(args, s.engine.cluster, w.from, w.to)
	exists, args := alsoExists(conditions[1:], args)
	return s.find(fmt.Sprintf(gatherObjects, first.terms, exists), append(args, int64(limit))...)
}

// check reads objects by key.
func (s *snapshot) check(w window, conditions []condition, limit int) ([]engine.Row, error) {
	args := []any{int64(w.at), s.engine.cluster, w.resource, w.from, w.to}
	exists, args := alsoExists(conditions, args)
	return s.find(fmt.Sprintf(checkObjects, exists), append(args, int64(limit))...)
}

// alsoExists joins conditions on objects k and appends their arguments.
func alsoExists(conditions []condition, args []any) (string, []any) {
	var exists strings.Builder
	for _, c := range conditions {
		exists.WriteString(c.exists)
		args = append(args, c.args...)
	}
	return exists.String(), args
}
