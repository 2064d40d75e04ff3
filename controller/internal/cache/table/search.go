// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// resultKey identifies a result. The engine returns the same Expression for the same text and aliases
// as long as that is in use.
type resultKey struct {
	expression *Expression
	shape      Shape
}

// bytes estimates what the key keeps in memory: the engine may have dropped the expression.
func (k resultKey) bytes() int64 { return resultBytes + k.expression.bytes() }

// memo is the last result of an expression.
type memo struct {
	// lock is held while it is computed.
	lock *semaphore.Weighted
	last atomic.Pointer[result]
}

// result is the result of an expression at one version. It never changes.
type result struct {
	version uint64
	// of identifies the inputs from which it was computed.
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
	// candidates are still to be evaluated if pending is set.
	candidates []*Packed
	pending    bool
	// from is the same for two outcomes only if they are.
	from any
}

// answer returns the result of an expression over the table as it is at the call, or later.
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
	if err := m.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.lock.Release(1)
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
		t.results.setCost(key, key.bytes()+r.cost)
		t.mu.Unlock()
	}
	return r.value, r.err
}

func (t *Table) memo(key resultKey) *memo {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.results.get(key)
	if !ok {
		m = &memo{lock: newLock()}
		t.results.put(key, m, key.bytes())
	}
	return m
}

// evaluate computes a result, or takes that of last if the inputs are the same. The error is that of
// ctx.
func (t *Table) evaluate(ctx context.Context, p *plan, s *snapshot, shape Shape, last *result) (*result, error) {
	r := &result{version: s.version}
	outcomes := make([]outcome, len(p.inputs))
	for i, input := range p.inputs {
		var err error
		if outcomes[i], err = t.outcome(ctx, input.stream, s); err != nil {
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
			t.evaluateCandidates(&outcomes[i], p.inputs[i].stream)
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

// finish evaluates the residual expression.
func (t *Table) finish(ctx context.Context, p *plan, s *snapshot, shape Shape, outcomes []outcome) (any, error) {
	for i, o := range outcomes {
		if o.err == nil {
			continue
		}
		if p.inputs[i].leading || p.inputs[i].stream == objects {
			return nil, o.err
		}
		// Whether the expression reaches this part, and what then happens, is left to the library.
		all, err := t.column(ctx, objects, s, nil)
		if err != nil {
			return nil, err
		}
		if all.err != nil {
			return nil, all.err
		}
		return execute(p.original, t.data(s, shape, all.value), t.engine.caller)
	}
	data := t.list(s, nil)
	for i, o := range outcomes {
		data[inputName(i)] = o.value
	}
	if p.count {
		data[countField] = float64(s.count)
	}
	if p.list {
		for i, input := range p.inputs {
			if input.stream == objects {
				data[listField] = t.data(s, shape, outcomes[i].value)
			}
		}
	}
	return execute(p.residual, data, t.engine.caller)
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
