// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
)

// errNothing stands for a stream that gives null for an object instead of an array: the library has
// met an error and gone on with null.
var errNothing = errors.New("null")

// column is the value of a stream over all objects, and what each of them has given to it.
type column struct {
	stream *stream
	// memory is what it takes.
	memory atomic.Int64

	turn turn
	// The following is read and changed by whoever has the turn; arrays never change.
	at *snapshot
	// offsets are where in values the part of each object begins, and where the last one ends.
	offsets []int32
	values  []any
	size    size
	// failures are of the objects that have given an error instead.
	failures map[*Packed]error
	failed   error
	// edition grows when values or failed change.
	edition uint64
}

// edition names a state of a column.
type edition struct {
	column *column
	number uint64
}

func newColumn(s *stream) *column {
	return &column{stream: s, turn: newTurn(), at: &snapshot{}, offsets: []int32{0}, values: []any{}}
}

// part is what one object gives to a column.
type part struct {
	values []any
	size   size
	err    error
}

// evaluator computes the part of an object.
type evaluator func(position int, object *Packed) part

// outcome brings the column to a snapshot, which costs as much as differs from what it is at, and
// returns its value there.
func (c *column) outcome(ctx context.Context, s *snapshot, evaluate evaluator) (outcome, error) {
	if err := c.turn.take(ctx); err != nil {
		return outcome{}, err
	}
	defer c.turn.give()
	if c.at.version != s.version {
		if err := c.mend(ctx, s, evaluate); err != nil {
			return outcome{}, err
		}
	}
	o := outcome{value: slices.Clip(c.values), size: c.size, from: edition{c, c.edition}}
	switch {
	case errors.Is(c.failed, errNothing):
		o.value = nil
	case c.failed != nil:
		o.value, o.err = nil, c.failed
	}
	return o, nil
}

// mended is what takes the place of a difference.
type mended struct {
	from, removed int
	parts         []part
}

func (c *column) mend(ctx context.Context, s *snapshot, evaluate evaluator) error {
	sum := tally{size: c.size, failures: c.failures, failed: c.failed}
	var runs []mended
	shift := 0
	for _, run := range differences(c.at, s) {
		m := mended{from: run.from, removed: len(run.before), parts: make([]part, 0, len(run.after))}
		position := run.from // In what the column is at.
		err := run.each(func(before, after *Packed) error {
			var was, is part
			if before != nil {
				was = part{values: c.values[c.offsets[position]:c.offsets[position+1]], err: c.failures[before]}
				position++
			}
			if after == before {
				m.parts = append(m.parts, was)
				return nil
			}
			if after != nil {
				if err := ctx.Err(); err != nil {
					return err
				}
				is = evaluate(run.from+shift+len(m.parts), after)
				m.parts = append(m.parts, is)
			}
			sum.replace(before, after, was, is)
			return nil
		})
		if err != nil {
			return err
		}
		shift += len(m.parts) - m.removed
		runs = append(runs, m)
	}
	if len(runs) > 0 {
		c.splice(runs, s.count, sum.changed)
	}
	if sum.refailed {
		sum.failed = failureOf(sum.failures)
	}
	if sum.changed || sum.refailed {
		c.edition++
	}
	c.at, c.size, c.failures, c.failed = s, sum.size, sum.failures, sum.failed
	c.account()
	return nil
}

// account says what memory the column takes.
func (c *column) account() {
	text := c.size.text
	if c.stream == objects {
		text = 0 // Part of what is packed.
	}
	c.memory.Store(c.size.memory + text + memberBytes*int64(cap(c.values)) + 4*int64(cap(c.offsets)) + 256)
}

// tally is what becomes of a column when parts of it are replaced. The column is left alone: if ctx
// ends, nothing must have happened.
type tally struct {
	size     size
	failures map[*Packed]error
	failed   error
	// changed and refailed say whether values and failures have.
	changed, refailed bool
}

func (t *tally) replace(before, after *Packed, was, is part) {
	t.size = t.size.less(was.values)
	t.size.text += is.size.text
	t.size.memory += is.size.memory
	t.changed = t.changed || !sameValues(was.values, is.values)
	if was.err == nil && is.err == nil {
		return
	}
	if !t.refailed {
		t.refailed = true
		if t.failures = maps.Clone(t.failures); t.failures == nil {
			t.failures = map[*Packed]error{}
		}
	}
	delete(t.failures, before)
	if is.err != nil {
		t.failures[after] = is.err
	}
}

// splice makes new arrays of the old ones and the parts that have changed; values stay what they are
// unless they have.
func (c *column) splice(runs []mended, count int, changed bool) {
	offsets, values := make([]int32, 1, count+1), c.values
	if changed {
		values = make([]any, 0, len(c.values)+16)
	}
	keep := func(from, to int) {
		delta := offsets[len(offsets)-1] - c.offsets[from]
		for _, end := range c.offsets[from+1 : to+1] {
			offsets = append(offsets, end+delta)
		}
		if changed {
			values = append(values, c.values[c.offsets[from]:c.offsets[to]]...)
		}
	}
	from := 0
	for _, run := range runs {
		keep(from, run.from)
		for _, p := range run.parts {
			offsets = append(offsets, offsets[len(offsets)-1]+int32(len(p.values)))
			if changed {
				values = append(values, p.values...)
			}
		}
		from = run.from + run.removed
	}
	keep(from, len(c.offsets)-1)
	c.offsets, c.values = offsets, values
}

// sameValues reports whether values that are equal can stay where they are.
func sameValues(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

// less subtracts the size of values.
func (s size) less(values []any) size {
	for _, value := range values {
		was := sizeOf(value, unlimited)
		s.text -= was.text
		s.memory -= was.memory
	}
	return s
}

// failureOf returns what comes of the failures of some objects over all of them. Null for one is
// null for all: what made it null comes before anything that has failed without.
func failureOf(failures map[*Packed]error) error {
	if len(failures) == 0 {
		return nil
	}
	for _, err := range failures {
		if errors.Is(err, errNothing) {
			return errNothing
		}
	}
	return failures[firstOf(failures)]
}

// firstOf returns the object that comes first.
func firstOf(objects map[*Packed]error) *Packed {
	var first *Packed
	for object := range objects {
		if first == nil || compareObjects(object, first) < 0 {
			first = object
		}
	}
	return first
}
