// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kyverno/go-jmespath"
)

const (
	// maxCandidates is how many objects are decoded to answer one question.
	maxCandidates = 256
	// manyColumns is how many new columns make it worth while to keep decoded objects.
	manyColumns = 4
)

// outcome returns the value of a stream at a snapshot.
func (t *Table) outcome(ctx context.Context, stream *stream, s *snapshot) (outcome, error) {
	for i, probes := range stream.alternatives {
		found, err := t.candidates(ctx, probes, s, t.engine.candidates)
		if err != nil {
			return outcome{}, err
		}
		if len(found) <= t.engine.candidates {
			return outcome{candidates: found, pending: true, from: found}, nil
		}
		if i+1 == len(stream.alternatives) {
			return t.column(ctx, stream, s, stream.alternatives[0])
		}
	}
	return t.column(ctx, stream, s, nil)
}

// candidates returns the objects that one of the probes finds, in order. If there are more than limit,
// it returns some that are more than limit.
func (t *Table) candidates(ctx context.Context, probes []probe, s *snapshot, limit int) ([]*Packed, error) {
	found := []*Packed{}
	for _, p := range probes {
		var err error
		source := p.source
		found, err = t.index(source).lookup(ctx, s, []any{p.want}, found, limit, func(object *Packed) []any {
			return t.keysOf(source, object)
		})
		if err != nil {
			return nil, err
		}
		if len(found) > limit {
			// Without duplicates there may be fewer.
			if found = inOrder(found); len(found) > limit {
				return found, nil
			}
		}
	}
	return inOrder(found), nil
}

func inOrder(objects []*Packed) []*Packed {
	slices.SortFunc(objects, compareObjects)
	return slices.Compact(objects)
}

func (t *Table) index(s source) *index {
	return t.indexAs(fmt.Sprintf("%d %v %s", s.depth, s.strict, keyOf(s.of)), s)
}

// indexAs returns the index that is kept under a name.
func (t *Table) indexAs(key string, s source) *index {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, ok := t.indexes.get(key)
	if !ok {
		x = newIndex(s)
		t.indexes.put(key, x, 1)
	}
	return x
}

// keysOf returns the keys under which an index has an object.
func (t *Table) keysOf(s source, object *Packed) []any {
	always := []any{anyKey{}}
	value, err := object.value(s.needed)
	if err != nil {
		return always
	}
	found, err := execute(s.of, value, t.engine.caller)
	var missing jmespath.NotFoundError
	if err != nil && !errors.As(err, &missing) {
		return always
	}
	if _, ok := found.([]any); !ok && s.strict {
		return always
	}
	return collect(nil, found, s.depth)
}

// evaluateCandidates sets the value of a pending outcome: objects that are not candidates contribute
// nothing.
func (t *Table) evaluateCandidates(o *outcome, stream *stream) {
	array := make([]any, len(o.candidates))
	for i, object := range o.candidates {
		value, err := object.value(stream.needed)
		if err != nil {
			o.err = err
			return
		}
		array[i] = value
	}
	value, err := execute(stream.over, array, t.engine.caller)
	if values, ok := value.([]any); ok && err == nil {
		o.value = values
	}
	o.err = err
}

// column returns the value of a stream from its column. Objects that the probes don't find contribute
// nothing.
func (t *Table) column(ctx context.Context, stream *stream, s *snapshot, probes []probe) (outcome, error) {
	t.mu.Lock()
	c, known := t.columns.get(stream.key)
	if !known {
		c = newColumn(stream)
		t.columns.put(stream.key, c, 1)
		t.built++
	}
	many := t.built > manyColumns && stream.needed == nil
	t.mu.Unlock()
	e := evaluation{table: t, stream: stream}
	if stream == objects && !known {
		e.alike = map[string]any{}
	}
	if known || stream == objects {
		return c.outcome(ctx, s, e.part)
	}
	if probes != nil {
		found, err := t.candidates(ctx, probes, s, math.MaxInt)
		if err != nil {
			return outcome{}, err
		}
		e.only = make(map[*Packed]struct{}, len(found))
		for _, object := range found {
			e.only[object] = struct{}{}
		}
	} else if many {
		all, err := t.column(ctx, objects, s, nil)
		if err != nil {
			return outcome{}, err
		}
		if values, ok := all.value.([]any); ok && all.err == nil {
			e.decoded = values
		}
	}
	return c.outcome(ctx, s, e.part)
}

// evaluation computes the parts that objects contribute to a column.
type evaluation struct {
	table  *Table
	stream *stream
	// only, if not nil, has the objects that may contribute.
	only map[*Packed]struct{}
	// decoded, if not nil, has all objects of the snapshot to which the column is updated.
	decoded []any
	// alike, if not nil, caches the decoded parts that objects have in common.
	alike map[string]any
}

func (e evaluation) value(position int, object *Packed) (any, error) {
	switch {
	case position < len(e.decoded):
		return e.decoded[position], nil
	case e.alike != nil:
		return decodeAlike(object.data, e.alike)
	default:
		return object.value(e.stream.needed)
	}
}

func (e evaluation) part(position int, object *Packed) part {
	if _, ok := e.only[object]; e.only != nil && !ok {
		return part{}
	}
	value, err := e.value(position, object)
	if err != nil {
		return part{err: err}
	}
	limit := e.table.engine.MaxResult
	if e.stream == objects {
		return part{values: []any{value}, size: sizeOf(value, unlimited)}
	}
	result, err := execute(e.stream.over, []any{value}, e.table.engine.caller)
	if err != nil {
		return part{err: err}
	}
	values, ok := result.([]any)
	if !ok {
		return part{err: errNothing}
	}
	p := part{values: values}
	for _, v := range values {
		size := sizeOf(v, limit)
		p.size.text += size.text
		p.size.memory += size.memory
		if p.size.text > limit {
			return part{err: tooLarge(fmt.Sprintf("what is selected of %s/%s", object.namespace, object.name), limit)}
		}
	}
	if p.size.text < int64(len(object.data)/2) {
		p.values, _ = own(values).([]any)
	}
	return p
}
