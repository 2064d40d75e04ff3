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

	"golang.org/x/sync/semaphore"
)

// errNothing stands for a stream that gives null for an object instead of an array: the library has
// met an error and gone on with null.
var errNothing = errors.New("null")

// column is the value of a stream over all objects, and the part that each of them contributes.
type column struct {
	stream *stream
	// memory is an estimate in bytes.
	memory atomic.Int64

	lock *semaphore.Weighted
	// lock guards the fields below. Arrays never change once they are here.
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
	return &column{stream: s, lock: newLock(), at: &snapshot{}, offsets: []int32{0}, values: []any{}}
}

// part is what one object gives to a column.
type part struct {
	values []any
	size   size
	err    error
}

// evaluator computes the part of an object.
type evaluator func(position int, object *Packed) part

// outcome updates the column to a snapshot and returns its value there. It costs as much
// as the difference between the two snapshots is large.
func (c *column) outcome(ctx context.Context, s *snapshot, evaluate evaluator) (outcome, error) {
	if err := c.lock.Acquire(ctx, 1); err != nil {
		return outcome{}, err
	}
	defer c.lock.Release(1)
	if c.at.version != s.version {
		if err := c.update(ctx, s, evaluate); err != nil {
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

// replacement is the new content for a run of objects that differ.
type replacement struct {
	from, removed int
	parts         []part
}

func (c *column) update(ctx context.Context, s *snapshot, evaluate evaluator) error {
	sum := totals{size: c.size, failures: c.failures, failed: c.failed}
	var runs []replacement
	shift := 0
	for _, run := range differences(c.at, s) {
		m := replacement{from: run.from, removed: len(run.before), parts: make([]part, 0, len(run.after))}
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

// account estimates the memory of the column.
func (c *column) account() {
	text := c.size.text
	if c.stream == objects {
		text = 0 // Part of what is packed.
	}
	c.memory.Store(c.size.memory + text + memberBytes*int64(cap(c.values)) + 4*int64(cap(c.offsets)) + 256)
}

// totals has the totals of a column after parts of it were replaced. The column itself is not changed, so
// that an update can be abandoned when ctx is done.
type totals struct {
	size     size
	failures map[*Packed]error
	failed   error
	// changed and refailed say whether values and failures have.
	changed, refailed bool
}

func (t *totals) replace(before, after *Packed, was, is part) {
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

// splice makes new arrays from the old ones and the replacements. The array of values is kept if changed
// is false.
func (c *column) splice(runs []replacement, count int, changed bool) {
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

// sameValues reports whether one list of values can stand for the other.
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

// failureOf returns the outcome over all objects when some have failed. If one gives null, all give
// null: what makes it null is evaluated before anything that fails with an error.
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
