// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"sync"
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

// memos keep the last result of each expression.
type memos struct {
	mu   sync.Mutex
	kept *lru[resultKey, *memo]
}

// memo is the last result of an expression.
type memo struct {
	// lock is held while it is computed.
	lock *semaphore.Weighted
	last atomic.Pointer[result]
}

func newMemos() *memos { return &memos{kept: newLRU[resultKey, *memo](maxResultBytes)} }

// get returns the last result if it is current, or else has the next one computed from it. It waits for others who
// compute the same until ctx is done. An error is not kept.
func (m *memos) get(ctx context.Context, key resultKey, current func(*result) bool, compute func(last *result) (*result, error)) (*result, error) {
	known := m.of(key)
	if r := known.last.Load(); r != nil && current(r) {
		return r, nil
	}
	if err := known.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer known.lock.Release(1)
	last := known.last.Load()
	if last != nil && current(last) {
		return last, nil
	}
	r, err := compute(last)
	if err != nil {
		return nil, err
	}
	known.last.Store(r)
	if last == nil && r.cost > 0 || last != nil && last.cost != r.cost {
		m.mu.Lock()
		m.kept.setCost(key, key.bytes()+r.cost)
		m.mu.Unlock()
	}
	return r, nil
}

func (m *memos) of(key resultKey) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.kept.get(key)
	if !ok {
		known = &memo{lock: newLock()}
		m.kept.put(key, known, key.bytes())
	}
	return known
}

// bytes estimates the memory of the results.
func (m *memos) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.cost
}

// trim drops results that nobody has asked for since the trim before.
func (m *memos) trim() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.dropUnused()
}

// forget drops all results.
func (m *memos) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = newLRU[resultKey, *memo](maxResultBytes)
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
	current := func(r *result) bool { return r.version == t.current.Load().version }
	var r *result
	var err error
	if p.pure {
		r, err = t.results.get(ctx, resultKey{x, shape}, current, func(last *result) (*result, error) {
			return t.evaluate(ctx, p, t.current.Load(), shape, last)
		})
	} else {
		r, err = t.evaluate(ctx, p, t.current.Load(), shape, nil)
	}
	if err != nil {
		return nil, err
	}
	return r.value, r.err
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
