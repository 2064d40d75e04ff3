// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"

	"github.com/kyverno/go-jmespath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Filter decides which objects are kept. Nil keeps all. It is immutable.
type Filter struct {
	engine *Engine
	text   string
	// over leaves an object in an array, or takes it out.
	over   node
	needed *need
	// err is why there is no filter.
	err error
}

// CheckFilter tells what is wrong with an expression of a filter, before it is evaluated.
func (e *Engine) CheckFilter(expression string) error {
	_, err := e.checkPure(expression)
	return err
}

// Filter returns the filter of an expression over an object; nil for the empty one. As in JMESPath's own
// filters, false, null and what is empty leave an object out. With an expression that [Engine.CheckFilter]
// refuses, nothing can be packed.
func (e *Engine) Filter(expression string) *Filter {
	if expression == "" {
		return nil
	}
	condition, err := parse(expression)
	if err != nil {
		return &Filter{err: err}
	}
	over := node{NodeType: jmespath.ASTFilterProjection, Children: []node{current, current, condition}}
	return &Filter{engine: e, text: expression, over: over, needed: needOf(over)}
}

// Pack is [Pack] for what is kept: see [Packed.Dropped]. If the expression fails for an object, a table that
// has it gives no answers: see [Table.Problem].
func (f *Filter) Pack(object *unstructured.Unstructured) (*Packed, error) {
	packed, err := Pack(object)
	if err != nil || f == nil {
		return packed, err
	}
	if f.err != nil {
		return nil, f.err
	}
	value, err := packed.value(f.needed)
	if err != nil {
		return nil, err
	}
	left, err := execute(f.over, []any{value}, f.engine.caller)
	if err != nil {
		packed.failure = fmt.Errorf("filter %q can't tell whether to keep %s/%s: %w", shorten(f.text), packed.namespace, packed.name, err)
		return packed, nil
	}
	if kept, _ := left.([]any); len(kept) == 0 {
		return &Packed{namespace: packed.namespace, name: packed.name, uid: packed.uid, version: packed.version, dropped: true}, nil
	}
	return packed, nil
}

// Dropped reports whether the object is not to be kept. All that is left of it is its name.
func (p *Packed) Dropped() bool { return p.dropped }

func (p *Packed) failing() int {
	if p.failure != nil {
		return 1
	}
	return 0
}
