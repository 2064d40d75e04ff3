// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"encoding/json"
	"fmt"
)

// Document is one JSON value, such as the answer of an API. It is immutable and safe for concurrent
// use.
type Document struct {
	engine *Engine
	value  any
	// absent is why there is no value.
	absent  error
	bytes   int64
	results *memos
}

// NewDocument decodes JSON. It keeps no part of data.
func NewDocument(engine *Engine, data []byte) (*Document, error) {
	d := &Document{engine: engine, results: newMemos()}
	if err := json.Unmarshal(data, &d.value); err != nil {
		return nil, fmt.Errorf("document is no JSON: %w", err)
	}
	d.bytes = sizeOf(d.value, unlimited).memory + int64(len(data))
	return d, nil
}

// NoDocument stands for one that does not exist: all its answers are the error.
func NoDocument(why error) *Document {
	return &Document{absent: why, results: newMemos()}
}

// Document returns a document of an object.
func (p *Packed) Document(engine *Engine) (*Document, error) {
	return NewDocument(engine, []byte(p.data))
}

// Search returns the result of an expression, which may call the data by any of aliases. The result
// belongs to all: nobody may change it. It waits for others who compute the same as long as ctx
// lasts. A document has no shapes.
func (d *Document) Search(ctx context.Context, _ Shape, expression string, aliases ...string) (any, error) {
	if d.absent != nil {
		return nil, d.absent
	}
	x, err := d.engine.Compile(expression, aliases...)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, x.failed(err)
	}
	if calls(x.parsed, d.engine.impure) {
		r := d.evaluate(x)
		return r.value, r.err
	}
	always := func(*result) bool { return true }
	r, err := d.results.get(ctx, resultKey{expression: x}, always, func(*result) (*result, error) { return d.evaluate(x), nil })
	if err != nil {
		return nil, x.failed(err)
	}
	return r.value, r.err
}

func (d *Document) evaluate(x *Expression) *result {
	fields, _ := d.value.(map[string]any)
	n := resolve(x.parsed, x.aliases, func(name string) bool {
		_, ok := fields[name]
		return ok
	})
	r := &result{}
	if r.value, r.err = execute(n, d.value, d.engine.caller); r.err != nil {
		r.value, r.err = nil, x.failed(r.err)
		return r
	}
	size := sizeOf(r.value, d.engine.MaxResult)
	if size.text > d.engine.MaxResult {
		r.value, r.err = nil, x.failed(tooLarge("the result", d.engine.MaxResult))
		return r
	}
	if !isCurrent(n) {
		r.cost += size.memory
	}
	return r
}

// Bytes estimates the memory that it takes with all results that are known.
func (d *Document) Bytes() int64 { return d.bytes + d.results.bytes() }

// Trim drops results that nobody has asked for since the Trim before.
func (d *Document) Trim() { d.results.trim() }

// Shrink drops all results.
func (d *Document) Shrink() { d.results.forget() }

// Len is the number of documents.
func (d *Document) Len() int {
	if d.absent != nil {
		return 0
	}
	return 1
}

// Problem returns nil: a document that does not exist is no problem of the data.
func (d *Document) Problem() error { return nil }
