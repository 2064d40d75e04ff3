// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"sync/atomic"
)

// resultKey names a result: the engine gives out one Expression for each text and aliases, as long
// as it is in use.
type resultKey struct {
	expression *Expression
	shape      Shape
}

// bytes is what is kept beside the result: the engine may have dropped the expression.
func (k resultKey) bytes() int64 { return resultBytes + k.expression.bytes() }

// memo is what is known of one result.
type memo struct {
	// turn is of who computes it.
	turn turn
	last atomic.Pointer[result]
}

// result is that of an expression at one version. It never changes.
type result struct {
	version uint64
	// of is what it has been computed of.
	of    []any
	value any
	err   error
	cost  int64
}

// outcome is the value of a stream at some snapshot: an array, or null, or an error.
type outcome struct {
	value any
	err   error
	size  size
	// candidates, if pending, are to be evaluated for it.
	candidates []*Packed
	pending    bool
	// from is the same for two outcomes only if they are.
	from any
}

// answer returns the result of an expression that is as new as the table when it was called.
func (t *Table) answer(ctx context.Context, x *Expression, shape Shape) (any, error) {
	p := x.plans[shape]()
	s := t.current.Load()
	if !p.pure {
		r, err := t.evaluate(ctx, p, s, shape, nil)
		if err != nil {
			return nil, err
		}
		return r.value, r.err
	}
	key := resultKey{x, shape}
	m := t.memo(key)
	if r := m.last.Load(); r != nil && r.version == s.version {
		return r.value, r.err
	}
	if err := m.turn.take(ctx); err != nil {
		return nil, err
	}
	defer m.turn.give()
	s = t.current.Load()
	last := m.last.Load()
	if last != nil && last.version == s.version {
		return last.value, last.err
	}
	r, err := t.evaluate(ctx, p, s, shape, last)
	if err != nil {
		return nil, err
	}
	m.last.Store(r)
	if last == nil && r.cost > 0 || last != nil && last.cost != r.cost {
		t.mu.Lock()
		t.results.charge(key, key.bytes()+r.cost)
		t.mu.Unlock()
	}
	return r.value, r.err
}

func (t *Table) memo(key resultKey) *memo {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.results.get(key)
	if !ok {
		m = &memo{turn: newTurn()}
		t.results.put(key, m, key.bytes())
	}
	return m
}

// evaluate computes a result, unless last has been computed of the same. The error is that of ctx.
func (t *Table) evaluate(ctx context.Context, p *plan, s *snapshot, shape Shape, last *result) (*result, error) {
	r := &result{version: s.version}
	outcomes := make([]outcome, len(p.slots))
	for i, slot := range p.slots {
		var err error
		if outcomes[i], err = t.outcome(ctx, slot.stream, s); err != nil {
			return nil, err
		}
		r.of = append(r.of, outcomes[i].from)
		r.cost += postingBytes * int64(len(outcomes[i].candidates))
	}
	if p.header || p.list {
		r.of = append(r.of, s.resourceVersion)
	}
	if p.count {
		r.of = append(r.of, s.count)
	}
	if last != nil && slices.EqualFunc(last.of, r.of, sameOrigin) {
		r.of, r.value, r.err, r.cost = last.of, last.value, last.err, last.cost
		return r, nil
	}
	for i := range outcomes {
		if outcomes[i].pending {
			t.settle(&outcomes[i], p.slots[i].stream)
		}
	}
	r.value, r.err = t.finish(ctx, p, s, shape, outcomes)
	if err := ctx.Err(); err != nil && r.err != nil {
		return nil, err
	}
	if r.err == nil {
		t.measure(r, outcomes)
	}
	return r, nil
}

func sameOrigin(a, b any) bool {
	if candidates, ok := a.([]*Packed); ok {
		others, ok := b.([]*Packed)
		return ok && slices.Equal(candidates, others)
	}
	if _, ok := b.([]*Packed); ok {
		return false
	}
	return a == b
}

// measure refuses a result that is too large.
func (t *Table) measure(r *result, outcomes []outcome) {
	measure := sizer{limit: t.engine.MaxResult, known: map[*any]measured{}}
	for _, o := range outcomes {
		if values, ok := o.value.([]any); ok && len(values) > 0 && !o.pending {
			measure.known[&values[0]] = measured{len(values), o.size}
		}
	}
	measure.add(r.value)
	if measure.text > measure.limit {
		r.value, r.err = nil, tooLarge("the result", measure.limit)
		return
	}
	r.cost += measure.memory + measure.text - measure.shared
}

// finish evaluates the rest of an expression.
func (t *Table) finish(ctx context.Context, p *plan, s *snapshot, shape Shape, outcomes []outcome) (any, error) {
	for i, o := range outcomes {
		if o.err == nil {
			continue
		}
		if p.slots[i].leading || p.slots[i].stream == objects {
			return nil, o.err
		}
		// Whether the expression comes to it, and what it makes of it, the library knows.
		all, err := t.column(ctx, objects, s, nil)
		if err != nil {
			return nil, err
		}
		if all.err != nil {
			return nil, all.err
		}
		return execute(p.whole, t.data(s, shape, all.value), t.engine.caller)
	}
	data := t.list(s, nil)
	for i, o := range outcomes {
		data[slotName(i)] = o.value
	}
	if p.count {
		data[countField] = float64(s.count)
	}
	if p.list {
		for i, slot := range p.slots {
			if slot.stream == objects {
				data[listField] = t.data(s, shape, outcomes[i].value)
			}
		}
	}
	return execute(p.rest, data, t.engine.caller)
}

// data returns what an expression is evaluated over.
func (t *Table) data(s *snapshot, shape Shape, items any) any {
	if shape == Array {
		return items
	}
	return t.list(s, items)
}

func (t *Table) list(s *snapshot, items any) map[string]any {
	list := map[string]any{
		"apiVersion": t.header.APIVersion, "kind": t.header.Kind + "List",
		"metadata": map[string]any{"resourceVersion": s.resourceVersion},
	}
	if items != nil {
		list["items"] = items
	}
	return list
}
